# How script/site makes a site of the documents, with Sphinx.

import re

from pygments.lexers import BashLexer, PostgresLexer, TextLexer
from sphinx.highlighting import lexers

project = html_title = 'sno'
root_doc = 'README'
include_patterns = ['*.md', 'doc/*.md', 'doc/evidence/*.md', 'src/*.md', 'clients/README.md', 'clients/*/README.md']
extensions = ['myst_parser']
myst_heading_anchors = 6        # as a forge does, so links to headings work here and there
html_theme = 'sphinx_rtd_theme'
html_static_path = html_css_files = ['site.css']
html_use_index = False
html_copy_source = False
html_show_copyright = False
lexers.update(sql=PostgresLexer(), cron=BashLexer(), prisma=TextLexer())


# The navigation has the pages in the order of README's table, and then all others.
def add_navigation(app, docname, source):
    if docname == root_doc:
        table = re.search(r'^\| I want to .*?\n\n', source[0], re.M | re.S)[0]
        pages = re.findall(r'\]\((.*?)\.md\)', table)
        others = ['doc/evidence/*', 'clients/*/*', 'doc/*', '*']
        source[0] += '\n'.join(['', '```{toctree}', ':hidden:', ':glob:', *pages, *others, '```', ''])


def setup(app):
    app.connect('source-read', add_navigation)
