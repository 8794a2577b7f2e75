"""A person types lines and is answered at once; lines that begin with a colon change how."""

import difflib
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from rich.console import Console
from rich.markup import escape

from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import console as remarks
from jaxsmt.model.labelling.labellers import NO_DOMAIN, Labeller, same_label
from jaxsmt.model.source_text import SourceText, source_text
from jaxsmt.pipeline.translating.session import Answer, Session
from jaxsmt.pipeline.translating.warming import Warming

AUTO = "auto"
MOST_LISTED = 1000
HELP = """A line is translated; a line that begins with a colon changes how:
  :domain NAME   as text of that kind
  :domain auto   the kind of each line is found, where the model can do that
  :domain none   as text of no kind; all corpora count alike
  :domain        shows the kinds
  :explain       shows how each translation comes about; again :explain stops that
  :nbest 5       shows 5 translations of each line, best first; :nbest 0 the best
  :help          shows this
  :quit          leaves, as Ctrl-D does"""


@dataclass
class Conversation:
    """What was said so far decides how the next line is answered.

    labeller: what labels lines while the domain is 'auto'.
    say, remark: what shows answers, and what shows all else.
    warming: kernels that are being made.
    """

    session: Session
    labeller: Labeller
    say: Callable[[str], None]
    remark: Callable[[str], None]
    domain: str = AUTO
    size: int = 0
    explains: bool = False
    warming: Warming = field(default_factory=Warming)

    def greeting(self) -> str:
        """The languages and domains of the model, and what to do."""
        model = self.session.model
        languages = f"{model.source.language} → {model.target.language}"
        kinds = f"Domains: {', '.join(model.labels)}; {self._way()}."
        return f"{languages}: type a line and it is translated; :help says what else you can type.\n{kinds}"

    def hear(self, line: str) -> bool:
        """Answers a line or obeys it; False: the person leaves."""
        try:
            if line.startswith(":"):
                return self._obey(*line[1:].split())
            if line.strip():
                self._translate(line)
        except UserError as error:
            self.remark(str(error))
        return True

    def warm(self) -> None:
        """Makes kernels ready for lines as they are answered now, while the person types."""
        self.warming.start(self.session, self._current_labeller(), self._num_listed)

    def _translate(self, line: str) -> None:
        text = source_text(self.session.model.source, [line])
        with self.warming.wait(len(text.tokens[0])):
            labels = self._current_labeller().labels_of(text.tokens)
            answer = self.session.answers(text, labels, self._num_listed)[0]
        for shown in self._shown(text, answer):
            self.say(shown)
        unknown = f"unknown: {', '.join(answer.line.unknown)}" if answer.line.unknown else ""
        found = f"domain {labels[0]}" if self.domain == AUTO and labels[0] is not None else ""
        if self.explains:
            self.remark(self.session.explanations(text, [answer])[0].as_text())
        elif found or unknown:
            self.remark("; ".join(part for part in (found, unknown) if part))

    def _shown(self, text: SourceText, answer: Answer) -> list[str]:
        """The translation, or the list of them with their scores."""
        if not self.size or answer.listed is None or not answer.listed.listed:
            return [answer.line.text]
        line, ranked = self.session.translator.line, answer.listed
        texts = [line(text, 0, found, answer.profile.label).text for found in ranked.listed]
        return [f"{score:9.3f}  {shown}" for score, shown in zip(ranked.features.score.tolist(), texts, strict=True)]

    @property
    def _num_listed(self) -> int:
        """Translations of a line that are asked for; an explanation is of the first of a list."""
        return max(self.size, int(self.explains))

    def _current_labeller(self) -> Labeller:
        return self.labeller if self.domain == AUTO else same_label(self.domain)

    def _obey(self, name: str = "", *values: str) -> bool:
        commands = {
            "domain": self._choose_domain,
            "nbest": self._choose_size,
            "explain": self._explain,
            "help": self._help,
        }
        if name in ("quit", "q", "exit"):
            return False
        if name not in commands:
            near = difflib.get_close_matches(name, commands, 1)
            raise UserError(f"':{name}' is not known: {f'did you mean :{near[0]}?' if near else ':help shows what is'}")
        had_lists = self._num_listed > 0
        commands[name](*values)
        if self._num_listed and not had_lists:
            self.warm()  # lists have kernels of their own
        return True

    def _choose_domain(self, name: str = "", *_: str) -> None:
        known = self.session.model.labels
        if name and name not in (AUTO, NO_DOMAIN, *known):
            raise UserError(
                f"domain '{name}' is not in the model: choose one of {', '.join((*known, AUTO, NO_DOMAIN))}"
            )
        if name:
            self.domain = name
            self.remark(self._way())
        else:
            self.remark(f"domains: {', '.join(known)}; {self._way()}")

    def _way(self) -> str:
        if self.domain == AUTO and self.labeller.names:
            return "each line's is found by itself"
        return (
            "none is chosen: all corpora alike" if self.domain in (AUTO, NO_DOMAIN) else f"lines are of '{self.domain}'"
        )

    def _choose_size(self, number: str = "", *_: str) -> None:
        if not number.isdecimal() or int(number) > MOST_LISTED:
            raise UserError(f":nbest needs a number of translations from 0 to {MOST_LISTED}: for instance :nbest 5")
        self.size = int(number)
        self.remark(f"{self.size} translations a line" if self.size else "the best translation of a line")

    def _explain(self, *_: str) -> None:
        self.explains = not self.explains
        self.remark("translations are explained" if self.explains else "translations are not explained any more")

    def _help(self, *_: str) -> None:
        self.remark(HELP)


def converse(session: Session, labeller: Labeller) -> None:
    """Talks with the person at the terminal until they leave."""
    answers = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)

    def remark(text: str) -> None:
        remarks.print(f"[dim]{escape(text)}[/dim]", highlight=False, soft_wrap=True)

    domain, explains = session.config.domain or AUTO, session.config.explain
    if domain != AUTO:
        session.profiles(same_label(domain).labels_of([[]]))  # is it there?
    talk = Conversation(session, labeller, answers.print, remark, domain, explains=explains)
    remark(talk.greeting())
    talk.warm()
    try:
        _listen(talk, _asker(f"{session.model.source.language}> "))
    finally:
        talk.warming.stop()


def _listen(talk: Conversation, ask: Callable[[], str]) -> None:
    """Hears line after line until the person leaves."""
    while True:
        try:
            if not talk.hear(ask()):
                return
        except KeyboardInterrupt:  # takes the line back
            talk.remark("\n:quit or Ctrl-D leaves")
        except EOFError:
            talk.remark("")
            return


def _asker(prompt: str) -> Callable[[], str]:
    """What reads a line; with history and editing where both ends are a terminal."""
    if sys.stdout.isatty():
        with suppress(ImportError):  # not on every system
            import readline  # noqa: F401 — input() uses it once it is there
        return lambda: input(prompt)

    def ask() -> str:
        sys.stderr.write(prompt)
        sys.stderr.flush()
        return input()

    return ask
