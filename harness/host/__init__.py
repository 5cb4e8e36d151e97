"""The plugin host: the contract for plugins, their discovery, and the catalog of the specs that they register."""
