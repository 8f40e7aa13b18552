"""The links of Markdown pages in a folder: each leads to a file of the folder, and to an anchor of that file.

A link with a scheme leads out of the folder, and is not followed.
"""

import pathlib
import re
import urllib.parse

MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)")
HTML_LINK = re.compile(r"""\b(?:href|src)\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
HTML_ANCHOR = re.compile(r"""\b(?:id|name)\s*=\s*["']([^"']+)["']""", re.IGNORECASE)
CODE = re.compile(r"^```.*?^```|^    .*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*?) *#*$", re.MULTILINE)


def anchor(heading):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(page):
    text = page.read_text()
    found = set(HTML_ANCHOR.findall(text))
    for heading in HEADING.findall(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)):
        name, number = anchor(heading), 0
        while name in found:
            number += 1
            name = f"{anchor(heading)}-{number}"
        found.add(name)
    return found


def links(page):
    text = CODE.sub("", page.read_text())
    return MARKDOWN_LINK.findall(text) + HTML_LINK.findall(text)


def dead(folder):
    """The number of links in all pages of a folder, and those that lead nowhere."""
    folder, count, found = pathlib.Path(folder).resolve(), 0, []
    for page in sorted(folder.rglob("*.md")):
        for link in links(page):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
            is_right = target.is_relative_to(folder) and target.exists()
            if is_right and parts.fragment:
                is_right = target.suffix == ".md" and urllib.parse.unquote(parts.fragment) in anchors(target)
            if not is_right:
                found.append(f"{page.relative_to(folder)}: {link}")
    return count, found
