"""Printed output: no control characters, and no failure when the reader is gone."""

import io
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from internals import LastingStream, check_platform, clean, expand_imports, printable, well_formed
from messages import assert_names, naming


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pa on digits: é µ ± ✓\n\tR1", "pa on digits: é µ ± ✓\n\tR1"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("done\rnot done", "done\\rnot done"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202elast first", "\\u202elast first"),
    ],
)
def test_control_characters_are_shown_as_escapes(text, shown):
    assert printable(text) == shown


def test_a_table_may_contain_bold_and_no_other_control_sequence():
    assert clean("\x1b[1mbest\x1b[0m \x1b[31mred\x1b[1A") == "\x1b[1mbest\x1b[0m \\x1b[31mred\\x1b[1A"


@given(st.text(st.characters(codec=None)))
def test_no_text_moves_the_cursor_or_fails_to_print(text):
    shown = well_formed(printable(text))
    shown.encode("utf-8")
    assert all(letter.isprintable() or letter in "\n\t" or ord(letter) > 0x9F for letter in shown)


def test_a_closed_reader_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    stream = LastingStream(io.FileIO(writing, "w"), encoding="utf-8", line_buffering=True)
    assert stream.write("message to nobody\n") == 18
    stream.flush()
    os.close(writing)
    stream.write("nor is this\n")
    stream.flush()
    stream.detach()


@pytest.mark.parametrize("closed", ["2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_streams_are_not_reused_for_other_files(tmp_path, closed):
    """Otherwise the next opened file would get the number of a closed stream and all printed output."""
    message = tmp_path / "message.py"
    message.write_text(
        expand_imports(
            "import os, sys\n"
            "from internals import set_up_streams\n"
            "set_up_streams()\n"
            "kept = os.open('kept', os.O_CREAT | os.O_WRONLY)\n"
            "print('out'); print('error', file=sys.stderr); sys.stderr.flush(); sys.stdout.flush()\n"
            "os.write(kept, str(kept > 2).encode())\n"
        )
    )
    script = f'exec "{sys.executable}" "{message}" {closed}'
    assert subprocess.run(["sh", "-c", script], cwd=tmp_path, check=False).returncode == 0
    assert (tmp_path / "kept").read_text() == "True"


def test_a_closed_standard_error_does_not_affect_a_run(harness, tmp_path):
    command = [sys.executable, "-m", "harness", "list", "metrics"]
    with_all = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *command], stdout=subprocess.PIPE, text=True, check=True
    )
    assert ended.stdout == with_all


@pytest.mark.parametrize("platform", ["win32", "cygwin"])
def test_windows_gets_a_clear_message(platform):
    with pytest.raises(SystemExit, match=naming("macOS", "WSL")):
        check_platform(platform)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_other_platforms_are_accepted(platform):
    check_platform(platform)


@pytest.mark.parametrize("option", ["--out", "--data-home", "--plugins-dir", "--reuse"])
def test_an_empty_path_is_rejected(harness, tmp_path, option):
    ended = harness("run", "--learners", "pa", "--data", "digits", option, "")
    assert ended.returncode == 2
    assert_names(ended.stderr, "empty")
    assert not list(tmp_path.glob("records.jsonl"))
