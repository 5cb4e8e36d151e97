"""A cluster behind TLS with test certificates and dask's settings; validation of worker results."""

import datetime
import ipaddress
import json
import sys

import pytest

from clusters import RealCluster
from internals import JobEnd, frames, pack_end, pack_reply, read_description, read_reply
from messages import assert_names
from workspace import Workspace

x509 = pytest.importorskip("cryptography.x509", reason="certificates are made with cryptography")


def make_certificates(folder):
    """Return a CA certificate, and a certificate with key for 127.0.0.1 signed by it."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime.now(datetime.UTC)

    def certificate(name, key, issuer, issuers_key, *, is_authority):
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(issuers_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def named(text):
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    folder.mkdir()
    (folder / "ca.pem").write_bytes(certificate(named("ca"), authority, named("ca"), authority, is_authority=True))
    (folder / "cert.pem").write_bytes(certificate(named("node"), own, named("ca"), authority, is_authority=False))
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    key = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key.pem").write_bytes(key)
    prefix = "DASK_DISTRIBUTED__COMM__"
    settings = {f"{prefix}TLS__CA_FILE": "ca.pem"}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        settings |= {f"{prefix}TLS__{role}__CERT": "cert.pem", f"{prefix}TLS__{role}__KEY": "key.pem"}
    paths = {name: str(folder / file) for name, file in settings.items()}
    return paths | {f"{prefix}REQUIRE_ENCRYPTION": "True"}


def test_trials_run_on_a_tls_cluster_and_other_clients_are_rejected(marked, tmp_path):
    settings = make_certificates(tmp_path / "certificates")
    workspace = Workspace(tmp_path)
    env = settings | {"HARNESS_DATA_HOME": str(tmp_path / "workers"), "HARNESS_OWN_COPIES": "1"}
    cluster = RealCluster(tmp_path / "cluster", protocol="tls", env=env)
    try:
        cluster.start("one")
        assert cluster.address.startswith("tls://")
        command = ("good", "--trials", 2, "--out", "secret", "--on", cluster.address)
        refused = workspace.run(*command, code=2)
        assert_names(refused.stderr, f"{cluster.address}")
        workspace.environment |= settings
        workspace.run(*command)
        assert [record.status for record in workspace.records("secret")] == ["ok", "ok"]
    finally:
        cluster.close()


# -- what a worker says ----------------------------------------------------------------------------------------------


def test_a_result_survives_packing():
    end = JobEnd("ok", {"a": [1, None]}, b"ranks", "", "rank", 1.5, "printed", 3)
    answer, blob = read_reply(pack_end(end, started="now", load=0.5, packages={"a": "1"}), 100)
    assert (answer.kind, answer.status, answer.answer, blob) == ("end", "ok", {"a": [1, None]}, b"ranks")
    assert (answer.seconds, answer.output, answer.processes, answer.load) == (1.5, "printed", 3, 0.5)
    assert read_reply(pack_reply("lacking", lacking=["a"]), 0)[0].lacking == ("a",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a text", "expected bytes, got str"),
        (b"", "cut short"),
        (pack_end(JobEnd("ok", 1, b"x" * 101)), "more than 100"),
        (pack_end(JobEnd("ok", 1))[:-1], "cut short"),
        (frames.pack(frames.JOB, b"pickled"), "cannot begin with"),
        (frames.pack(frames.END, b"{"), "Invalid JSON"),
        (frames.pack_json(frames.END, {"kind": "magic"}), "kind: "),
        (frames.pack_json(frames.END, {"kind": "end", "status": "fine"}), "status: "),
        (frames.pack_json(frames.END, {"kind": "end", "seconds": "1"}), "seconds: "),
        (frames.pack_json(frames.END, {"kind": "end", "seconds": -1.0}), "seconds: "),
        (frames.pack(frames.END, b'{"kind": "end", "load": NaN}'), "load: "),
        (frames.pack_json(frames.END, {"kind": "end", "output": "x" * 100_001}), "output: "),
    ],
)
def test_an_invalid_result_of_a_worker_raises_an_error(content, words):
    with pytest.raises(ValueError, match=words):
        read_reply(content, 100)


def test_a_worker_must_identify_itself():
    with pytest.raises(ValueError, match="home: "):
        read_description(json.dumps({"name": "one", "host": "h"}).encode())
    hello = {"name": "one", "host": "h", "home": "d", "slots": 0, "versions": {}, "facts": {}}
    with pytest.raises(ValueError, match="slots: "):
        read_description(json.dumps(hello).encode())
    with pytest.raises(ValueError, match="expected bytes"):
        read_description(sys)
