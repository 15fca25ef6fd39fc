"""Every error keeps its class, text and attributes over a pickle: they cross process pools and job queues."""

from __future__ import annotations

import copy
import pickle
import re

import pytest
import remit
from remit import _core

TABLE = _core.errors()
CLASSES = [value for name in remit.__all__ if isinstance(value := getattr(remit, name), type)]
ERRORS = [cls for cls in CLASSES if issubclass(cls, remit.RemitError)]


def fields(*texts: str) -> dict[str, str]:
    """A value for each `{field}` of a message."""
    plain = [text.replace("{{", "").replace("}}", "") for text in texts]
    return {name: f"some {name}" for text in plain for name in re.findall(r"{(\w+)}", text)}


@pytest.mark.parametrize(("code", "class_name", "message", "hint"), TABLE, ids=[row[0] for row in TABLE])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_error_survives_a_pickle(code: str, class_name: str, message: str, hint: str, protocol: int) -> None:
    given = fields(message, hint)
    error = _core.refuse(code, **given)

    for back in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error), copy.deepcopy(error)):
        assert type(back) is type(error) is getattr(remit, class_name)
        assert str(back) == str(error)
        assert back.code == code
        assert {name: getattr(back, name) for name in given} == given


@pytest.mark.parametrize(("code", "_class", "message", "hint"), TABLE, ids=[row[0] for row in TABLE])
def test_message_says_all_its_fields_and_what_to_do(code: str, _class: str, message: str, hint: str) -> None:
    given = fields(message, hint)
    text = str(_core.refuse(code, **given))
    assert all(value in text for value in given.values())
    assert "\nhint: " in text
    assert "(unknown)" not in text


def test_codes_are_unique() -> None:
    assert len({row[0] for row in TABLE}) == len(TABLE)


def test_every_class_is_raised_by_some_row() -> None:
    assert {row[1] for row in TABLE} == {error.__name__ for error in ERRORS}


@pytest.mark.parametrize("error", ERRORS)
def test_classes_say_where_they_are_imported_from(error: type) -> None:
    assert error.__module__ == "remit"
    assert issubclass(error, remit.RemitError)
