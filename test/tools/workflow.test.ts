/** The workflows: what they may do, that they end, and what the continuous integration runs. */
import { readdirSync, readFileSync } from "node:fs";
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

const folder = fileURLToPath(new URL("../../.github/workflows/", import.meta.url));
const workflows = readdirSync(folder).map((file) => Workflow.parse(load(readFileSync(`${folder}${file}`, "utf8"))));
const workflow = Workflow.parse(load(readFileSync(`${folder}ci.yml`, "utf8")));
const { "ci-ok": gate, ...jobs } = workflow.jobs;

test("a workflow may read the repository, and nothing else unless a job says so", () => {
  for (const { permissions } of workflows) expect(permissions).toEqual({ contents: "read" });
});

describe.each(workflows.flatMap(({ jobs: all }) => Object.entries(all)))("job %s", (_, job) => {
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
