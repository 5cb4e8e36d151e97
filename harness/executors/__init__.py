"""Where jobs run: `local` gives each a process of its own, forked warm from a server and watched by a supervisor."""
