"""Guesses from the words of a column's name: an id, a contact, a place, a secret or an amount."""

from __future__ import annotations

import re

__all__ = [
    "is_amount",
    "is_code",
    "is_confidential",
    "is_contact",
    "is_id",
    "is_person",
    "is_place",
    "is_stratum",
]

PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
"""Words of a name, whether it is written person_id, personId or PERSON-ID."""

PERSONS = (
    "patient|pat|person|pers|people|subject|subj|customer|cust|kunde|client|member|user"
    "|employee|emp|staff|student|pupil|respondent|resp|participant|account|acct|household|hh"
    "|family|case|record|insured|policyholder|citizen|resident|tenant|individual|persona"
    "|cliente|paciente"
)
IDS = (
    "id|ids|ident|identifier|uid|uuid|guid|key|pk|fk|no|nr|num|number|nummer|numero|hash|token|ref"
)
NUMBERED = rf"(?:{PERSONS})\w{{0,2}}(?:{IDS})|\w*nummer|\w*(?:uuid|guid)"

CONTACTS = (
    "name|names|firstname|lastname|surname|forename|fullname|username|nickname|maidenname"
    "|vorname|nachname|familienname|nom|prenom|nombre|apellido|apellidos|email|mail|correo"
    "|phone|telephone|telefon|telefono|tel|mobile|cell|handy|fax|address|adresse|direccion"
    "|street|strasse|rue|calle|ssn|sin|mrn|nhs|ahv|bsn|pesel|cpf|dni|nif|nie|personnummer|cnp"
    "|iban|bic|passport|login|ip|mac|imei|imsi|msisdn|cookie|url|licence|license|plate"
)

PLACES = (
    "zip|zipcode|postcode|postalcode|postal|plz|postleitzahl|cap|cep|tract|census|fips|lsoa|msoa"
)

STRATA = (
    "region|regions|regiao|regione|area|zone|sector|district|bezirk|kreis|county|country|land|nation"
    "|pais|pays|continent|province|provincia|provinz|state|states|bundesland|kanton|canton|territory"
    "|city|town|municipality|gemeinde|commune|comune|municipio|borough|ward|site|sites|location|place"
    "|ort|center|centre|hospital|clinic|klinik|practice|school|schule|university|campus|branch|store"
    "|shop|filiale|office|department|division|plant|rural|urban"
    "|sex|sexe|sexo|gender|geschlecht|genre|genero|agegroup|ageband|altersgruppe"
)

CONFIDENTIAL = (
    "dx|hiv|aids|std|atc|drg|cpt|rx|vote|votes|voted|sexual|lohn"
    "|gehalt|race|creed|faith|church|caste|debt|default|credit|income|salary|wage|wages|pay"
    "|bonus|result|results|outcome|deceased|died|dead|cause|"
    r"\w{0,8}dx|icd\w*|dia[gn]\w*|disease\w*|disorder\w*|illness\w*|sickness\w*|symptom\w*|krank\w*"
    r"|maladie\w*|enfermedad\w*|malattia\w*|ziekte\w*|snomed\w*|loinc\w*|cancer\w*|tumou?r\w*|condition\w*"
    r"|treatment\w*|therap\w*|medic\w*|drug\w*|prescri\w*|procedure\w*|surger\w*|operation\w*|allerg\w*"
    r"|psych\w*|mental\w*|depress\w*|suicid\w*|addict\w*|alcohol\w*|smok\w*|pregnan\w*|abort\w*|disab\w*"
    r"|genetic\w*|genom\w*|orientation|religi\w*|konfession\w*|confession\w*|ethnic\w*|politic\w*|party"
    r"|partei|union|crim\w*|offen[cs]e\w*|convict\w*|arrest\w*|salar\w*|confidential|sensitive|secret\w*"
)

AMOUNTS = (
    "age|amount|balance|bill|charge|charges|cost|count|debt|distance|duration|earnings"
    "|expenses|fee|gehalt|height|hours|income|lohn|minutes|paid|pay|payment|premium|price"
    "|profit|quantity|revenue|salary|sales|seconds|size|spend|sum|tax|total|turnover|value"
    "|wage|wages|wealth|weight"
)

CODES = "code|codes|type|kind|class|category|cat|group|grade|level|status|state|flag"


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case; a number is part of the word before it."""
    words: list[str] = []
    for word in PARTS.findall(name):
        if word.isdigit() and words:
            continue
        words.append(word.lower())
    return words


def _any(words: list[str], of: str) -> bool:
    return any(re.fullmatch(of, word) for word in words)


def is_id(name: str) -> bool:
    """Return whether a name is that of an id, such as patient, personKey or kundennummer.

    >>> is_id("patientId"), is_id("Patient"), is_id("patient_age")
    (True, True, False)
    """
    words = _words(name)
    if not words:
        return False
    alone = all(re.fullmatch(PERSONS, word) for word in words)
    return alone or _any(words[-1:], IDS) or _any(["".join(words)], NUMBERED)


def is_person(name: str) -> bool:
    """Return whether a name is that of the id of a person, and not of a visit or an order.

    >>> [is_person(name) for name in ("patientId", "Patient", "kundennummer", "visit_id", "key")]
    [True, True, True, False, False]
    """
    words = _words(name)
    of = [*words[:-1], re.sub(rf"(?:{IDS})$", "", "".join(words)), *words]
    return is_id(name) and any(re.fullmatch(rf"(?:{PERSONS})\w{{0,2}}", word) for word in of)


def is_contact(name: str) -> bool:
    """Return whether a name is that of a name, an address or an official number."""
    return _any(_words(name), CONTACTS)


def is_place(name: str) -> bool:
    """Return whether a name is that of the code of a place."""
    words = _words(name)
    return _any([*words, "".join(words)], PLACES)


def is_stratum(name: str) -> bool:
    """Return whether a name is that of places or groups whose records are released by each.

    >>> [is_stratum(name) for name in ("district_name", "Sex", "SITE2", "c1", "insured")]
    [True, True, True, False, False]
    """
    words = _words(name)
    return _any([*words, "".join(words)], STRATA)


def is_confidential(name: str) -> bool:
    """Return whether a name is that of what nobody should learn of a person.

    >>> [is_confidential(name) for name in ("ICD10", "dx_1", "primaryDx", "Religion", "region")]
    [True, True, True, True, False]
    """
    words = _words(name)
    return _any([*words, "".join(words)], CONFIDENTIAL)


def is_amount(name: str) -> bool:
    """Return whether a name is that of a quantity, which has a meaningful mean."""
    return _any(_words(name), AMOUNTS)


def is_code(name: str) -> bool:
    """Return whether a name is that of a code, which has no meaningful mean."""
    return _any(_words(name)[-1:], CODES)
