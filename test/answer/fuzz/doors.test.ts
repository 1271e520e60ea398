/** A short run of `npm run fuzz`, of the same requests every time: every door keeps its contract, whatever is sent to it. */
import { expect, test } from "vitest";
import { pageProblems, PAGES } from "./pages.ts";
import { LONG } from "./property.ts";
import { DOORS } from "./visit.ts";

const VISITS = 300;

test("no answer is outside the contract, and every door is opened to some and closed to others", LONG, async () => {
  const reached = await DOORS.check(VISITS);
  expect(DOORS.reaches.filter((outcome) => !reached.has(outcome))).toEqual([]);
});

test("the same seed is the same run", async () => {
  expect(await DOORS.check(20, 1)).toEqual(await DOORS.check(20, 1));
});

test("no page is outside its contract, and every one is shown to some", LONG, async () => {
  const reached = await PAGES.check(250);
  expect(PAGES.reaches.filter((outcome) => !reached.has(outcome))).toEqual([]);
});

const PAGE = {
  code: 200,
  headers: [
    "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "content-type: text/html; charset=UTF-8",
  ].join("\n"),
  text: "<p>&lt;img src=x onerror=alert(1)&gt;</p>",
};
// prettier-ignore
test.each<[string, Partial<typeof PAGE>, string | undefined]>([
  ["as it should be",   {},                                                                                 undefined],
  ["another code",      { code: 500 },                                                                      "answered 500"],
  ["plain text",        { headers: PAGE.headers.replace("html", "plain") },                                 "no page"],
  ["inline scripts",    { headers: PAGE.headers.replace("script-src 'self'", "script-src 'unsafe-inline'") }, "a policy that is not strict"],
  ["a secret",          { text: "canary-of-the-operator" },                                                 "tells a secret"],
  ["a place in code",   { text: "Error\n    at x.ts:1:1" },                                                 "has a stack trace"],
  ["markup",            { text: "<p><img src=x onerror=alert(1)></p>" },                                    "markup of another party's"],
  ["a cookie to read",  { headers: `${PAGE.headers}\nset-cookie: a=b; Secure; SameSite=Strict` },           "a cookie for others"],
  ["another site",      { headers: `${PAGE.headers}\nlocation: //evil.example` },                           "leads away"],
])("a page that is %s", (_, tweak, problem) => {
  const problems = pageProblems({ ...PAGE, ...tweak }, [200]);
  expect(problems).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)]);
});
