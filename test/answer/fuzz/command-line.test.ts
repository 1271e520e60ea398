/**
 * Tests that the command prints readable messages for any arguments, and never a stack trace. No cluster is reachable.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { run } from "../../../infra/cli/run.ts";
import { kubeconfigText } from "../../../infra/sandbox/index.ts";
import { machineOf } from "../../support/cli/machine.ts";
import { LONG, property } from "./property.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  await writeFile(
    join(folder, "config"),
    kubeconfigText({ url: "https://127.0.0.1:2", caPem: "", user: "jane", token: "t" }),
  );
  vi.spyOn(console, "log").mockReturnValue();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

const COMMANDS =
  "explain node nodes pod plan status report drain pause resume evacuate cancel retry doctor install uninstall completion complete help";
const OPTIONS =
  "--help --version -h -n --namespace --context --request-timeout --selector -l --dry-run --yes -y --at --until --order --when-blocked --start-if --return --reason --timeout -o --output --wait --worker --cluster --server --entry --with --export --in-cluster --image --cert-manager --parallel --bandwidth -- - --=";
const VALUES =
  "node-1 node/node-1 nevac/a vm/web web json yaml wide name 22:00 25:00 1h 0s -1 9999999h guard,guard a=b,c = * __proto__ constructor toString";

const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...COMMANDS.split(" ")) },
  { weight: 4, arbitrary: fc.constantFrom(...OPTIONS.split(" ")) },
  { weight: 3, arbitrary: fc.constantFrom(...VALUES.split(" ")) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
);
const line = fc.tuple(fc.constantFrom(...COMMANDS.split(" ")), fc.array(word, { maxLength: 6 }));

const answers = property("the command answers any words", line, async ([command, words]) => {
  const { host, err } = machineOf({});
  const code = await run(["--kubeconfig", join(folder, "config"), command, ...words], host);
  const said = err.join("");
  expect([0, 1, 2, 3, 4]).toContain(code);
  expect(said).not.toMatch(/^ +at |node:internal|ZodError|a defect of/m);
  if (code === 1 || code === 2) expect(said).toMatch(/^(error|Usage): /m);
  return [`${command} ${code}`, String(code)];
});

test("lifeboat with any words ends with a known code and readable lines", LONG, async () => {
  const reached = await answers.check(400);
  for (const code of ["0", "1", "2"]) expect(reached.get(code) ?? 0).toBeGreaterThan(10);
});
