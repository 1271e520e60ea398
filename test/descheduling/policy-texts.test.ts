/** What a policy file writes as one text: label selectors and durations. */
import { describe, expect, test } from "vitest";
import { Duration } from "../../shared/descheduling/plugins/fields.ts";
import { selectorOf } from "../../shared/descheduling/plugins/fields.ts";

const secondsOf = (text: string) => Duration.safeParse(text).data;

const requires = (key: string, operator: string, ...values: readonly string[]) => ({ key, operator, values });

describe("a selector", () => {
  const KEY_63 = "k".repeat(63);

  // prettier-ignore
  test.each([
    ["",                             []],
    ["  ",                           []],
    ["a",                            [requires("a", "Exists")]],
    ["!a",                           [requires("a", "DoesNotExist")]],
    ["! a",                          [requires("a", "DoesNotExist")]],
    ["a=b",                          [requires("a", "In", "b")]],
    ["a==b",                         [requires("a", "In", "b")]],
    ["a = b",                        [requires("a", "In", "b")]],
    ["a!=b",                         [requires("a", "NotIn", "b")]],
    ["a=",                           [requires("a", "In", "")]],
    ["a=,b",                         [requires("a", "In", ""), requires("b", "Exists")]],
    ["a in (b)",                     [requires("a", "In", "b")]],
    ["a in (b,c)",                   [requires("a", "In", "b", "c")]],
    ["a  in( b , c )",               [requires("a", "In", "b", "c")]],
    ["a in ()",                      [requires("a", "In", "")]],
    ["a in (b,)",                    [requires("a", "In", "b", "")]],
    ["a in (,b)",                    [requires("a", "In", "", "b")]],
    ["a notin (b,c)",                [requires("a", "NotIn", "b", "c")]],
    ["in in (in)",                   [requires("in", "In", "in")]],
    ["example.com/a_b.c=D-1",        [requires("example.com/a_b.c", "In", "D-1")]],
    ["k in (a,b),c!=d,!e",           [requires("k", "In", "a", "b"), requires("c", "NotIn", "d"), requires("e", "DoesNotExist")]],
    ["a,b , !c",                     [requires("a", "Exists"), requires("b", "Exists"), requires("c", "DoesNotExist")]],
    ["a!=b,a!=c",                    [requires("a", "NotIn", "b"), requires("a", "NotIn", "c")]],
    [`${KEY_63}=${KEY_63}`,          [requires(KEY_63, "In", KEY_63)]],
  ])("%j", (text, matchExpressions) => {
    expect(selectorOf(text)).toEqual({ matchLabels: {}, matchExpressions });
  });

  // prettier-ignore
  test.each([
    ",", "a,", ",a", "a,,b", "!", "!!a", "!a=b", "=b", "a b", "a=b c", "a=b=c", "a===b", "a in", "a in b", "a in (b", "a in b)",
    "a in (b c)", "a in ((b))", "a notin", "a like (b)", "a in (b)c", "(a)", "a)", "a>1", "a<1", "a > 1", "a=-b", "a=b-", "-a", "a-",
    "a/", "/a", "a/b/c", "A.com/b", "a=b!", "ä=b", `${KEY_63}k`, `a=${KEY_63}k`,
  ])("%j is none", (text) => {
    expect(selectorOf(text)).toBeUndefined();
  });

  test.each(["a in (", "a,", "!", "a=", "-", "a."])("half a million times %j: read within a test's time", (piece) => {
    expect(() => selectorOf(piece.repeat(500_000))).not.toThrow();
  });
});

describe("a duration", () => {
  // prettier-ignore
  test.each([
    ["0",            0],
    ["0s",           0],
    ["10m",          600],
    ["1h30m",        5400],
    ["1h30m15s",     5415],
    ["1.5h",         5400],
    [".5m",          30],
    ["5.s",          5],
    ["0.25s",        0.25],
    ["100ms",        0.1],
    ["250us",        0.00025],
    ["250µs",        0.00025],
    ["250μs",        0.00025],
    ["5ns",          5e-9],
    ["1s1s",         2],
    ["2562047h",     9223369200],
  ])("%s: %d seconds", (text, seconds) => {
    expect(secondsOf(text)).toBeCloseTo(seconds, 12);
  });

  // prettier-ignore
  test.each([
    "", "10", "m", "1d", "1 m", " 1m", "1m ", "-1m", "+1m", "1.m.", "1..5s", ".s", "1e3s", "1h30", "2562048h", "1M",
  ])("%j is none", (text) => {
    expect(secondsOf(text)).toBeUndefined();
  });

  test.each(["1", "1.", "1s", ".", ".1"])("half a million times %j: read within a test's time", (piece) => {
    expect(() => secondsOf(piece.repeat(500_000))).not.toThrow();
  });
});
