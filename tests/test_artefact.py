"""Files: damage is noticed, names are claimed by one process alone, permissions are the user's."""

import json
import multiprocessing
import os

import numpy as np
import pytest

import tsgrad as tg
from tsgrad.artefact import Taken, read_json, write_json, write_text


def test_every_flipped_bit_is_noticed_or_changes_nothing(tmp_path):
    """Each bit of a policy file, one in seven of them: another policy is never read."""
    path, damaged = tmp_path / "policy.json", tmp_path / "damaged.json"
    policy = tg.ReshapedThompson(tg.GaussianBandit(noise_std=[0.1, 1.0]))
    policy.save(path)
    content = path.read_bytes()
    noticed = 0
    for bit in range(0, 8 * len(content), 7):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << (bit % 8)
        damaged.write_bytes(bytes(flipped))
        try:
            read = tg.load(damaged).policy
        except tg.BadInput:
            noticed += 1
        else:
            same = {
                name: np.array_equal(value, policy.meta_parameters()[name])
                for name, value in read.meta_parameters().items()
            }
            assert all(same.values()), f"bit {bit}: {same}"
    assert noticed > len(content)


@pytest.mark.parametrize(
    ("field", "value"), [("arms", None), ("lineage", "x"), ("expected", 3), ("horizon", 0), ("conditions", [])]
)
def test_fields_of_a_policy_file_are_checked_and_the_file_is_named(field, value, tmp_path):
    path = tmp_path / "policy.json"
    write_json(path, "policy", {"policy": {"kind": "thompson"}, field: value})
    with pytest.raises(tg.BadInput, match=rf"policy\.json: {field} must be"):
        tg.load(path)


def test_a_file_that_says_it_was_edited_is_taken_as_it_is(tmp_path):
    path = tmp_path / "thing.json"
    write_json(path, "thing", {"number": 1})
    content = json.loads(path.read_text())
    content["sha256"] = "edited"
    path.write_text(json.dumps({**content, "number": 2}))
    assert read_json(path, "thing")["number"] == 2


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "3", "\x00"])
def test_what_is_not_an_artefact_is_one_line(tmp_path, text):
    (tmp_path / "policy.json").write_text(text)
    with pytest.raises(tg.BadInput) as caught:
        tg.load(tmp_path / "policy.json")
    assert "\n" not in str(caught.value)


RACES, RACERS = 12, 6


def _claim(folder, barrier, results, number):
    for race in range(RACES):
        barrier.wait()
        try:
            write_text(folder / f"{race}.txt", str(number), new=True)
        except Taken:
            continue
        results.put((race, number))


def test_of_many_that_claim_a_name_one_gets_it(tmp_path):
    """Twelve times six processes at once: one winner each time, whose content stands, and nothing is left behind."""
    context = multiprocessing.get_context("forkserver")  # JAX's threads must not be forked
    barrier, results = context.Barrier(RACERS, timeout=60), context.Queue()
    racers = [context.Process(target=_claim, args=(tmp_path, barrier, results, number)) for number in range(RACERS)]
    for racer in racers:
        racer.start()
    winners = [results.get(timeout=60) for _ in range(RACES)]
    for racer in racers:
        racer.join()
    assert results.empty()
    assert sorted(race for race, _ in winners) == list(range(RACES))
    assert {f"{race}.txt": str(number) for race, number in winners} == {
        path.name: path.read_text() for path in tmp_path.iterdir()
    }


def test_files_have_the_permissions_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "file.txt", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file.txt").stat().st_mode & 0o777 == 0o640
