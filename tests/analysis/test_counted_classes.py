"""What is counted of entities and of confidential columns, against loops over the rows."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from tests.loop import rounds

FEELING = pl.Enum(["poor", "fair", "good"])
KEYS = {
    "a": [1, 2, None],
    "z": [0.0, -0.0, math.nan, None],
    "^s$": ["x", "y", None],
    "list": [[0.0], [-0.0], [None], None],
}
PEOPLE = {"who": [7, 3, 5, 1, 8], "which": ["u", "v"]}
HIDDEN = {
    "sick": ["flu", "cold", "gout", None],
    "wage": [10, 20, 21, 90, None],
    "rate": [0.0, -0.0, 1.5, None],
    "well": ["poor", "good", None],
}
TYPES = {"a": pl.Int64, "z": pl.Float64, "^s$": pl.String, "list": pl.List(pl.Float64)}
TYPES |= {"who": pl.Int64, "which": pl.String}
TYPES |= {"sick": pl.String, "wage": pl.Int64, "rate": pl.Float64, "well": FEELING}
ORDER = {"wage": None, "rate": None, "well": FEELING.categories.to_list().index}


def drawn(rng):
    """A small table with ties and nulls, and what is asked of it."""
    n, few = int(rng.integers(1, 16)), int(rng.integers(1, 5))
    values = KEYS | PEOPLE | HIDDEN
    table = {
        name: [of[i % len(of)] for i in rng.integers(0, few, n)] for name, of in values.items()
    }
    some = {}
    for what, of in {"columns": KEYS, "entity": PEOPLE, "confidential": HIDDEN}.items():
        some[what] = rng.permutation(list(of))[: rng.integers(1, len(of) + 1)].tolist()
    named = some["columns"]
    strata = named[1:] if len(named) > 1 and rng.random() < 0.5 else []
    return table, named[: len(named) - len(strata)], strata, some["entity"], some["confidential"]


def seen(value):
    """A value as a reader tells it from others: -0.0 is not 0.0, and every NaN is the same."""
    if isinstance(value, list):
        return ("list", *map(seen, value))
    return "nan" if value != value else (value, math.copysign(1, value) if value == 0 else 1)


def classes_of(table, keys):
    """The rows of each class."""
    found = {}
    for row in range(len(table["a"])):
        found.setdefault(tuple(seen(table[key][row]) for key in keys), []).append(row)
    return found


def people_of(table, entity):
    return list(zip(*(table[name] for name in entity), strict=True))


def alike(table, keys, entity):
    """How many entities have the rows that each entity has."""
    rows = {}
    for key, members in classes_of(table, keys).items():
        for row in members:
            rows.setdefault(people_of(table, entity)[row], Counter())[key] += 1
    sets = Counter(frozenset(have.items()) for have in rows.values())
    return [sets[frozenset(have.items())] for have in rows.values()]


def distance(values, all_values, name, scale):
    """Earth mover's distance as fractions."""
    place = ORDER.get(name, str) or float
    order = sorted({v for v in all_values if v is not None}, key=place)
    order = [None] * (None in all_values) + order
    share = [
        Fraction(values.count(v), len(values)) - Fraction(all_values.count(v), len(all_values))
        for v in order
    ]
    if name not in ORDER:
        return sum(map(abs, share)) / 2
    if len(order) == 1:
        return Fraction(0)
    counts = [all_values.count(v) for v in order]
    places = list(range(len(order)))
    if scale == "ranks":
        places = [sum(counts[:i]) + Fraction(counts[i], 2) for i in range(len(order))]
    steps = [abs(sum(share[: i + 1])) * (places[i + 1] - places[i]) for i in range(len(order) - 1)]
    return sum(steps) / (places[-1] - places[0])


def number(model, table, rows, name, scale):
    """What a model counts in some rows."""
    values = [table[name][row] for row in rows]
    known = [value for value in values if value is not None]
    if model == "l":
        return max(1, len(set(known)))
    if model == "max_share":
        return max((Fraction(known.count(v), len(known)) for v in known), default=Fraction(0))
    return distance(values, table[name], name, scale)


WORST = {"l": min, "max_share": max, "t": max}


def test_anonymity_counts_as_loops_do():
    rng = np.random.default_rng(1)
    for _ in range(rounds(2000)):
        table, columns, strata, entity, confidential = drawn(rng)
        frame = pl.DataFrame(table, schema=TYPES)
        scale = str(rng.choice(["values", "ranks"]))
        found = mg.anonymity(
            frame.lazy() if rng.random() < 0.5 else frame,
            columns,
            strata=strata,
            k=3,
            entity=entity,
            confidential=confidential,
            t_scale=scale,
        ).row(0, named=True)
        classes = classes_of(table, [*columns, *strata])
        people = people_of(table, entity)
        people_by_class = {key: [people[row] for row in rows] for key, rows in classes.items()}
        entities = {key: len({*own}) for key, own in people_by_class.items()}
        assert found["records"] == len(people)
        assert found["classes"] == len(classes)
        assert found["k_min"] == min(map(len, classes.values()))
        assert found["entities"] == len(set(people))
        assert found["k_entities"] == min(entities.values())
        assert found["alike_min"] == min(alike(table, [*columns, *strata], entity))
        shares = [max(map(own.count, own)) / len(own) for own in people_by_class.values()]
        assert found["max_entity_share"] == max(shares)
        # k counts entities.
        assert found["at_risk"] == sum(len(classes[key]) for key, e in entities.items() if e < 3)
        for model, worst in WORST.items():
            numbers = [
                number(model, table, rows, name, scale)
                for rows in classes.values()
                for name in confidential
            ]
            assert found[model] == pytest.approx(float(worst(numbers)), abs=1e-11), model


def test_verify_refuses_what_loops_find_wrong():
    rng, said = np.random.default_rng(2), Counter()
    for _ in range(rounds(6000)):
        table, columns, strata, entity, confidential = drawn(rng)
        frame = pl.DataFrame(table, schema=TYPES)
        k, mode = 2, [None, "rows", "mean", "alike"][rng.integers(4)]
        bounds = {"l": int(rng.integers(1, 4)), "max_share": 0.7, "t": 0.5}
        bounds = {name: bounds[name] for name in bounds if rng.random() < 0.4}
        people = {"entity": entity, "entity_mode": mode} if rng.random() < 0.7 else {}
        hidden = {"confidential": confidential} if bounds else {}
        classes = classes_of(table, [*columns, *strata])
        rows_of = list(classes.values())
        who = people_of(table, entity)
        counts = [len({who[row] for row in rows}) if people else len(rows) for rows in rows_of]
        wrong = {}
        small = [len(rows) for rows, count in zip(rows_of, counts, strict=True) if count < k]
        if small:
            of = "are of fewer than k=2 entities (the fewest is" if people else "smaller than k=2"
            wrong["k"] = (len(small), sum(small), of, f"{min(counts)})")
        for model, bound in bounds.items():
            for name in confidential:
                numbers = [number(model, table, rows, name, "values") for rows in rows_of]
                # The nearest of other numbers is farther than what 12 digits leave out.
                broken = [
                    len(rows)
                    for rows, n in zip(rows_of, numbers, strict=True)
                    if (n < bound if WORST[model] is min else float(n) > bound + 1e-9)
                ]
                if broken:
                    worst = f"{float(WORST[model](numbers)):.6g}"[:6]
                    wrong[model, name] = (len(broken), sum(broken), f"of '{name}' is {worst}", "")
        few = [count for count in alike(table, [*columns, *strata], entity) if count < k]
        if people and mode == "alike" and few:
            of = f"rows of {len(few)} entit(ies) are those of fewer than k=2 (the fewest is {min(few)})"
            wrong["alike"] = (None, None, of, "")
        asked = {"strata": strata} | people | hidden | bounds
        if not wrong:
            assert mg.verify(frame, columns, k, **asked) is None
            said["nothing"] += 1
            continue
        with pytest.raises(mg.NotAnonymousError) as raised:
            frame.lazy().microagg.verify(columns, k, **asked)
        found = str(raised.value)
        # One of the faults is named, with its counts; k before all others.
        named = [
            what
            for what, (number_of, records, of, end) in wrong.items()
            if of in found
            and end in found
            and (number_of is None or f"{number_of} class(es) with {records} record(s)" in found)
            and (not isinstance(what, tuple) or f"{what[0]}={bounds[what[0]]}" in found)
        ]
        assert named, (found, wrong)
        assert "k" in named or "k" not in wrong
        said["model" if isinstance(named[0], tuple) else named[0]] += 1
    assert min(said[what] for what in ("nothing", "k", "model", "alike")) > 5, said


VISITS = pl.DataFrame(
    {
        "age": [30, 30, 30, 30, 41, 41],
        "who": ["u", "u", "v", "w", "v", "w"],
        "sick": ["no", "yes", "no", "no", "no", "yes"],
    }
)


def test_rows_by_hand():
    found = VISITS.microagg.anonymity("age", entity="who", k=3)
    assert found.select("entities", "k_entities", "alike_min", "at_risk").row(0) == (3, 2, 1, 2)
    # v and w have the same rows; u has one of them twice and the other not at all.
    both = VISITS.filter(pl.col("who") != "u")
    assert both.microagg.anonymity("age", entity="who")["alike_min"].item() == 2
    mg.verify(both, "age", 2, entity="who", entity_mode="alike")
    # How often an entity has a row counts: here one has it twice.
    more = both.vstack(both[:1])
    assert more.microagg.anonymity("age", entity="who")["alike_min"].item() == 1
    mg.verify(more, "age", 2, entity="who")
    with pytest.raises(mg.NotAnonymousError, match="by all rows of an entity: the rows of 2 entit"):
        mg.verify(more, "age", 2, entity="who", entity_mode="alike")
    # Strata are a part of the row.
    parts = both.with_columns(s=pl.Series(["x", "y", "x", "x"]))
    assert mg.anonymity(parts, "age", strata="s", entity="who")["alike_min"].item() == 1


def test_messages_by_hand():
    with pytest.raises(mg.NotAnonymousError) as raised:
        mg.verify(VISITS, "age", 3, entity="who", strata=[])
    assert str(raised.value) == (
        "The table is not 3-anonymous on 'age': 1 class(es) with 2 record(s) in all are of fewer than "
        "k=3 entities (the fewest is 2). Mask these columns together with this k and this entity before "
        "releasing the table."
    )
    with pytest.raises(mg.NotAnonymousError) as raised:
        mg.verify(VISITS, "age", 2, confidential="sick", max_share=0.5)
    assert str(raised.value) == (
        "The table does not keep max_share=0.5 on 'age': 1 class(es) with 4 record(s) in all break it "
        "(at worst, the share of the commonest value of 'sick' is 0.75). Mask these columns together "
        "with this bound before releasing the table."
    )


def test_each_block_is_held_on_its_own():
    table = VISITS.with_columns(b=pl.Series([1, 1, 2, 2, 3, 3]))
    blocks = [["age"], ["b"]]
    found = mg.anonymity(table, blocks, entity="who", confidential="sick")
    assert found.select("columns", "k_entities", "alike_min", "l").rows() == [
        (["age"], 2, 1, 2),
        (["b"], 1, 1, 1),
    ]
    mg.verify(table, "age", 2, entity="who", confidential="sick", l=2)
    with pytest.raises(mg.NotAnonymousError, match="not 2-anonymous on 'b': 1 class.* 2 record"):
        mg.verify(table, blocks, 2, entity="who")


@pytest.mark.parametrize("ask", [mg.anonymity, lambda f, c, **o: mg.verify(f, c, 2, **o)])
def test_an_entity_that_is_null_is_refused(ask):
    table = VISITS.with_columns(which=pl.Series([1, None, None, 4, 5, 6]))
    with pytest.raises(mg.InvalidDataError, match="Column 'which' has 2 null"):
        ask(table, "age", entity=["who", "which"])
    with pytest.raises(mg.InvalidDataError, match="Column 'which' has 2 null"):
        ask(table.lazy(), "age", entity="which")
    with pytest.raises(mg.InvalidParameterError, match="entity names 'whom'"):
        ask(table, "age", entity="whom")


def test_no_rows_have_no_least():
    none = VISITS.clear()
    found = mg.anonymity(none, "age", k=2, entity="who", confidential="sick").row(0, named=True)
    assert [found[n] for n in ("entities", "at_risk", "k_entities", "alike_min")] == [
        0,
        0,
        None,
        None,
    ]
    assert [found[n] for n in WORST] == [None] * 3
    # Of ordered values there is a line, which no record has a place on.
    asked = {"entity": "who", "entity_mode": "alike", "confidential": ["sick", "age"]}
    mg.verify(none, "age", 2, **asked, l=2, max_share=0.5, t=0.1)
    assert mg.anonymity(none, "who", confidential="age")["t"].item() is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"l": 2}, "l=2 was given without confidential"),
        ({"confidential": "sick"}, "without l, max_share or t|without l or max_share or t"),
        (
            {"confidential": "sick", "l": 2, "t_scale": "ranks"},
            "t_scale='ranks' was given without t",
        ),
        ({"entity_mode": "alike"}, "entity_mode='alike' was given without entity"),
        ({"entity": "who", "entity_mode": "like"}, "entity_mode='like' is not known"),
        ({"confidential": "sick", "max_share": 2}, "max_share=2 was given.*from 0 to 1"),
        ({"refine": True}, "verify has no option 'refine'"),
        ({"confidential": "sic", "l": 2}, "confidential names 'sic'"),
    ],
    ids=str,
)
def test_what_would_not_be_held_is_refused(asked, said):
    with pytest.raises(mg.InvalidParameterError, match=said):
        mg.verify(VISITS, "age", 2, **asked)


def test_options_of_models_are_checked():
    with pytest.raises(mg.InvalidParameterError, match="t_scale='rank' is not known"):
        mg.anonymity(VISITS, "age", confidential="sick", t_scale="rank")
    with pytest.raises(mg.InvalidParameterError, match="t_scale='ranks' was given without confid"):
        mg.anonymity(VISITS, "age", t_scale="ranks")
    with pytest.raises(mg.InvalidParameterError, match="anonymity has no option 'l'"):
        mg.anonymity(VISITS, "age", confidential="sick", l=2)


@pytest.mark.parametrize("mode", ["rows", "mean", "alike"])
def test_what_was_masked_with_bounds_passes(mode):
    rng = np.random.default_rng(3)
    n = 240
    table = pl.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(1),
            "pay": rng.normal(0, 1, n),
            "who": rng.permutation(np.arange(n) // 3),
            "sick": rng.choice(["flu", "cold", "gout"], n),
            "wage": rng.integers(0, 50, n),
        }
    )
    asked = {"entity": "who", "entity_mode": mode, "confidential": ["sick", "wage"]}
    asked |= {"l": 2, "max_share": 0.7, "t": 0.45, "t_scale": "ranks"}
    masked = mg.mdav(table, ["age", "pay"], 4, **asked)
    mg.verify(masked, ["age", "pay"], 4, **asked)
    found = mg.anonymity(
        masked, ["age", "pay"], entity="who", confidential=["sick", "wage"], t_scale="ranks"
    ).row(0, named=True)
    assert found["k_entities"] >= 4
    assert mode != "alike" or found["alike_min"] >= 4
    assert found["l"] >= 2
    assert found["max_share"] <= 0.7
    assert found["t"] <= 0.45
    with pytest.raises(mg.NotAnonymousError):
        mg.verify(mg.mdav(table, ["age", "pay"], 4), ["age", "pay"], 4, **asked)
