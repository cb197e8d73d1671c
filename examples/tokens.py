"""Tokens: by which users of a service say who they are, where they have no certificate."""

import headrace as hr

# Whoever opens the store itself makes tokens for everybody.
with hr.connect("./lake") as fs:
    made: hr.NewToken = fs.tokens.create("anna", expires="7d", description="notebook")
    print(made, made.text.startswith("hr_"))  # the text is shown by nothing else, now or later

    kept: list[hr.Token] = fs.tokens.list()
    print([(token.user, token.description, token.expires > token.created) for token in kept])

    fs.tokens.revoke(made.id)
    assert fs.tokens.list() == []
