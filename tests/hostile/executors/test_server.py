"""The fork server exits silently when its host exits."""

import socket
import subprocess
import sys

import pytest

from internals import FORK_SERVER, JOB, pack_json


@pytest.mark.parametrize("read", [True, False], ids=["after reading its answer", "with its answer unread"])
def test_a_host_that_exits_causes_no_traceback(read):
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", FORK_SERVER, str(theirs.fileno())]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, text=True) as server:
        theirs.close()
        ours.sendall(pack_json(JOB, {"preload": ["json"], "first": [], "last": []}))
        ours.recv(1 << 16, 0 if read else socket.MSG_PEEK)
        ours.close()
        assert server.wait(timeout=60) == 0
        assert server.stderr.read() == ""
