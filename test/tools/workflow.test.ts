/** The workflow of the continuous integration. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";

const Step = z.object({ uses: z.optional(z.string()), run: z.optional(z.string()), if: z.optional(z.string()) });
const Job = z.object({
  "timeout-minutes": z.optional(z.number()),
  needs: z.optional(z.array(z.string())),
  if: z.optional(z.string()),
  steps: z.array(Step),
});
const Workflow = z.object({ permissions: z.unknown(), jobs: z.record(z.string(), Job) });

const file = fileURLToPath(new URL("../../.github/workflows/ci.yml", import.meta.url));
const workflow = Workflow.parse(load(readFileSync(file, "utf8")));
const { "ci-ok": gate, ...jobs } = workflow.jobs;

test("it may read the repository, and nothing else", () => expect(workflow.permissions).toEqual({ contents: "read" }));

describe.each(Object.entries(workflow.jobs))("job %s", (_, job) => {
  test("has an end", () => expect(job["timeout-minutes"]).toBeGreaterThan(0));

  test("uses actions by the SHA of a commit", () => {
    for (const { uses } of job.steps) if (uses !== undefined) expect(uses).toMatch(/@[0-9a-f]{40}$/);
  });
});

test("ci-ok is the gate for all jobs, and a skipped one has not passed", () => {
  expect(gate?.needs).toEqual(Object.keys(jobs));
  expect(gate?.if).toBe("always()");
  const condition = gate?.steps[0]?.if ?? "";
  for (const result of ["failure", "cancelled", "skipped"])
    expect(condition).toContain(`contains(needs.*.result, '${result}')`);
});

test("it runs what a contributor can run", () => {
  expect(workflow.jobs["test"]?.steps.map(({ run }) => run).filter((run) => run !== undefined)).toEqual([".ci/run"]);
});
