"""From what was seen to a verdict. What a framework's documentation says is an input, and is cited by its address."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

Verdict = Literal["holds", "violated", "documented", "undocumented", "refused", "excluded", "error"]
MEANING: dict[Verdict, str] = {
    "holds": "everything that must hold did",
    "violated": "it did not, and the framework's documentation says that it does",
    "documented": "it did not, and the framework's documentation says so",
    "undocumented": "it did not, and no sentence of the framework's documentation was found that decides it",
    "refused": "nothing wrong happened, but the framework refuses, loudly, to complete the run",
    "excluded": "the case does not apply; exclusions.yaml has the reason",
    "error": "the case could not be played; no finding",
}


@dataclass(frozen=True)
class Document:
    """What the documentation says about a case: that it `promises` it, or that it `warns` that it does not hold."""

    plane: str
    case: str
    says: Literal["promises", "warns"]
    at: str

    def is_about(self, plane: str, case: str) -> bool:
        return fnmatchcase(plane, self.plane) and fnmatchcase(case, self.case)


def decide(seen: dict[str, Any], document: Document | None) -> Verdict:
    """The verdict on what was seen of a case (an entry of a stable result).

    Args:
        seen: the entry. One in which nothing was checked is an error of the harness.
        document: what the documentation says of this case, if it says anything.
    """
    if "excluded" in seen:
        return "excluded"
    if "error" in seen or not seen["checked"]:
        return "error"
    broken = [kind for kind, _ in seen["not so"]]
    if not broken:
        return "holds"
    was_loud = any(" -> raised" in op for op in seen["ops"][-1:])
    if was_loud and set(broken) == {"live"}:
        return "refused"
    if document is None:
        return "undocumented"
    return "violated" if document.says == "promises" else "documented"


def find(documents: list[Document], plane: str, case: str) -> Document | None:
    """The first entry about a case: the list goes from the special to the general."""
    return next((document for document in documents if document.is_about(plane, case)), None)


def documents(entries: list[dict[str, Any]]) -> list[Document]:
    """The entries of documents.yaml: each may name several cases."""
    return [
        Document(entry["plane"], case, entry["says"], entry["at"])
        for entry in entries
        for case in ([entry["case"]] if isinstance(entry["case"], str) else entry["case"])
    ]
