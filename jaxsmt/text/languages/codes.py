"""Language codes as the tables of this folder spell them."""

import re

_OTHER_NAMES = {"no": "nb", "nn": "nb", "cmn": "zh", "yue": "zh", "wuu": "zh"}


def base_code(language: str) -> str:
    """The code without country or script, in lower case: 'fr-CA' is 'fr'; Norwegian is 'nb', Chinese 'zh'."""
    code = re.split("[-_]", language.lower())[0]
    return _OTHER_NAMES.get(code, code)
