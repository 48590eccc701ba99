#!/usr/bin/env python3
"""The benchmark's own arithmetic: what is compared with what, and that a budget can be missed."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "netns")]

from budget import missed  # noqa: E402
from mesh import identity  # noqa: E402
from plan import rotated  # noqa: E402
from plots import script  # noqa: E402
from store import Store, difference, ratio  # noqa: E402
from tables import one_table, targets_table  # noqa: E402
from targets import judge  # noqa: E402


def store_of(*rows):
    s = Store()
    for round_, product, metric, value in rows:
        s.data["products"].setdefault(product, {})
        s.add(round_, "pair", "whole", product, {metric: value})
    return s


class Compared(unittest.TestCase):
    def test_ratios_are_of_the_same_round(self):
        s = store_of((1, "weft", "tcp1", 300), (1, "null", "tcp1", 400), (2, "weft", "tcp1", 900), (2, "null", "tcp1", 1000))
        got = s.compare(("pair", "whole", "weft", "tcp1"), ("pair", "whole", "null", "tcp1"), ratio)
        self.assertEqual((got.low, got.high, got.count), (0.75, 0.9, 2))

    def test_a_round_that_failed_for_one_is_left_out(self):
        s = store_of((1, "weft", "tcp1", 300), (2, "weft", "tcp1", 900), (2, "null", "tcp1", 1000))
        got = s.compare(("pair", "whole", "weft", "tcp1"), ("pair", "whole", "null", "tcp1"), ratio)
        self.assertEqual((got.median, got.count), (0.9, 1))

    def test_a_difference_to_nothing_counts_and_a_ratio_to_nothing_does_not(self):
        s = store_of((1, "weft", "rtt_p50", 0.2), (1, "veth", "rtt_p50", 0))
        a, b = ("pair", "whole", "weft", "rtt_p50"), ("pair", "whole", "veth", "rtt_p50")
        self.assertEqual(s.compare(a, b, difference).median, 0.2)
        self.assertIsNone(s.compare(a, b, ratio))


class Judged(unittest.TestCase):
    def words(self, weft, null):
        s = store_of((1, "weft", "tcp1", weft), (1, "null", "tcp1", null))
        return [word for _, _, word in judge(s)]

    def test_between_must_and_aim(self):
        self.assertEqual(self.words(50, 100), ["missed"])
        self.assertEqual(self.words(60, 100), ["reached"])
        self.assertEqual(self.words(80, 100), ["aim reached"])

    def test_only_what_was_measured_is_in_the_table(self):
        s = store_of((1, "weft", "tcp1", 60), (1, "null", "tcp1", 100))
        self.assertEqual(targets_table(s).count("\n"), 2)
        self.assertIsNone(targets_table(Store()))


class Budget(unittest.TestCase):
    LINES = {"speed": {"usual": 0.6, "min": 0.45}, "cost": {"usual": 1.8, "max": 2.3}}

    def test_within(self):
        self.assertEqual(missed(self.LINES, {"speed": 0.45, "cost": 2.3}), [])

    def test_a_loss_of_a_third_is_missed(self):
        self.assertEqual(missed(self.LINES, {"speed": 0.6 / 1.5, "cost": 1.8 * 1.5}), ["speed", "cost"])

    def test_what_could_not_be_measured_is_missed(self):
        self.assertEqual(missed(self.LINES, {"speed": 1}), ["cost"])


class Rest(unittest.TestCase):
    def test_the_order_rotates(self):
        self.assertEqual([rotated([1, 2, 3], n) for n in range(4)], [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 2, 3]])

    def test_an_identity_is_that_of_its_secret(self):
        secret, npub, address = identity("a")
        self.assertEqual(len(secret), 64)
        self.assertTrue(npub.startswith("npub1") and len(npub) == 63)
        self.assertTrue(address.startswith("fd"))

    def test_a_table_has_a_row_for_each_product_with_a_figure(self):
        s = store_of((1, "weft", "tcp1", 1234.4), (1, "null", "tcp1_back", 5))
        table = one_table(s, "pair", "whole", ("tcp1", "tcp1_back", "tcp4"))
        self.assertEqual(len(table.splitlines()), 4)
        self.assertIn("1,234", table)

    def test_a_plot_says_where_nothing_was_measured(self):
        s = store_of((1, "weft", "tcp1", 2))
        rows = [("weft", [s.spread("pair", "whole", "weft", "tcp1"), None])]
        self.assertIn('"weft" 2 2 2 NaN NaN NaN', script("x.svg", "t", rows, ("tcp1", "tcp1_back"), "Mbit/s", True))


if __name__ == "__main__":
    unittest.main()
