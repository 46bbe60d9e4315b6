from hypothesis import given
from hypothesis import strategies as st

from serveright.outputs import html, markdown, text
from serveright.types.derivation import Derivation
from serveright.types.document import Bullets, Code, Derivations, Document, Heading, Pairs, Paragraph, Table
from serveright.types.text import msg

DOC = Document(
    title="A",
    blocks=(
        Pairs((("family", "gqa"), ("캐시", "2 GiB"))),
        Heading("B"),
        Table(("name", "n"), (("a", "1"), ("한글", "22")), right=(1,)),
        Derivations((Derivation(name="x", formula="a * b", values={"a": 1000, "b": 2}, result=2000, unit="B", reason=msg("because"), source="here"),)),
        Code("echo hi"),
        Bullets(("one",)),
        Paragraph("end", "bad"),
    ),
)


def test_tables_align_wide_characters() -> None:
    shown = text.document(DOC, text.Options())
    assert "캐시    2 GiB" in shown
    assert "a      1\n한글  22" in shown


def test_derivations_show_the_numbers_put_in_only_on_request() -> None:
    assert "1,000 * 2 = 2,000 B" in text.document(DOC, text.Options(explain=True))
    assert "because" not in text.document(DOC, text.Options())


def test_color_only_repeats_words() -> None:
    plain, colored = text.document(DOC, text.Options()), text.document(DOC, text.Options(color=True))
    assert "\x1b[31mend\x1b[0m" in colored
    assert "\x1b" not in plain


@given(st.text())
def test_nothing_from_outside_reaches_the_terminal_as_a_control_character(outside: str) -> None:
    shown = text.document(Document(title="t", blocks=(Paragraph(outside), Code(outside))), text.Options())
    assert not any(ord(c) < 32 and c not in "\n\t" for c in shown)
    assert "\x1b" not in shown


@given(st.text(alphabet="ab 한글-", max_size=80), st.integers(4, 30))
def test_wrapped_lines_fit_and_lose_no_word(line: str, columns: int) -> None:
    lines = text.wrap(line, columns)
    assert all(text.width(part) <= columns for part in lines)
    assert "".join(lines).replace(" ", "") == line.replace(" ", "")


def test_a_narrow_terminal_stacks_what_does_not_fit() -> None:
    table = Table(("first column", "second column", "third column"), (("a" * 20, "b" * 20, "c" * 20),))
    shown = text.document(Document(title="t", blocks=(table,)), text.Options(columns=40))
    assert all(text.width(line) <= 40 for line in shown.splitlines())
    assert "second column: " + "b" * 20 in shown


def test_markdown_and_html_escape_what_comes_from_outside() -> None:
    hostile = Document(title="<script>alert(1)</script>", blocks=(Paragraph("a|b<img src=x>`"), Code("```\n</code><script>")))
    page = html.document(hostile, "en")
    assert "<script" not in page
    assert "<img" not in page
    shown = markdown.document(hostile, "en")
    assert "````" in shown
    assert "a\\|b\\<img" in shown


def test_wide_columns_share_what_room_there_is() -> None:
    sizes = [20, 90, 60, 10]
    text.narrow(sizes, (1, 2), 100)
    assert sizes == [20, 35, 35, 10]
    sizes = [20, 90, 20, 10]
    text.narrow(sizes, (1, 2), 100)
    assert sizes == [20, 50, 20, 10]
    sizes = [80, 90, 90]
    text.narrow(sizes, (1, 2), 60)
    assert sizes == [80, 16, 16]
