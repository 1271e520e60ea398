/** The recorded questions to kube-apiserver 1.36.2 and its answers (answers/kube-1.36.json), by theme. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { QUESTIONS, THEMES } from "./answers/questions.ts";
import { type Outcome, askAll } from "./answers/run.ts";
import type { Target } from "./client.ts";
import { connect } from "./target.ts";

/** Questions that the sandbox answers otherwise, where imitation is not worth the code. */
const OTHERWISE: Readonly<Record<string, string>> = {
  "hook: exec": "nothing runs in the pods of a sandbox, so there is no exec to ask about",
  "merge patch: bad label":
    "each error of a label is told once, not as often as the real server's kinds happen to look",
};

let target: Target;
let outcomes: ReadonlyMap<string, Outcome>;

// The questions share one state, which builds up from the first to the last.
beforeAll(async () => {
  target = await connect({ controllers: true });
  outcomes = new Map((await askAll(target)).map((outcome) => [outcome.question.question, outcome]));
}, 600_000);
afterAll(() => target.stop());

describe.each(THEMES)("%s", (theme) => {
  const questions = QUESTIONS.filter((question) => question.theme === theme).map(({ question }) => question);
  test.for(questions)("%s", (question, { skip }) => {
    const { failure, skipped, differences, response } = outcomes.get(question)!;
    if (skipped !== undefined) skip(skipped);
    if (target.name === "sandbox" && OTHERWISE[question] !== undefined) skip(OTHERWISE[question]);
    expect(failure).toBe(undefined);
    const by = (side: "expected" | "got") => Object.fromEntries(differences.map((entry) => [entry.key, entry[side]]));
    expect(by("got"), response?.text.slice(0, 2_000)).toEqual(by("expected"));
  });
});
