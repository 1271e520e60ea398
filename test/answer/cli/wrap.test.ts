/** Tests that the command breaks long lines between words, but never in a table or in a command line. */
import { expect, test } from "vitest";
import { wrapped } from "../../../infra/cli/wrap.ts";
import { machineOf } from "../../support/cli/machine.ts";
import { run } from "../../../infra/cli/run.ts";

const PAINTED = "\u001b[31m×\u001b[0m";

// prettier-ignore
test.each([
  ["short",            "node-1 is empty\n",                                             "node-1 is empty\n"],
  ["a sentence",       "drain it again when the owner of shop/ledger has stopped it\n", "drain it again when the owner of\nshop/ledger has stopped it\n"],
  ["an indent",        "    its owner: stop it, or set an eviction strategy\n",         "    its owner: stop it, or set an\n    eviction strategy\n"],
  ["a mark",           "× VM shop/ledger: cannot migrate (non-shared HostDisk)",        "× VM shop/ledger: cannot migrate\n  (non-shared HostDisk)"],
  ["a painted mark",   `${PAINTED} VM shop/ledger: cannot migrate (non-shared HostDisk)`, `${PAINTED} VM shop/ledger: cannot migrate\n  (non-shared HostDisk)`],
  ["a row of a table", "shop        ledger   Blocked            NotMigratable",          "shop        ledger   Blocked            NotMigratable"],
  ["a command",        "    kubectl -n kubevirt patch kubevirt kubevirt --type merge",  "    kubectl -n kubevirt patch kubevirt kubevirt --type merge"],
  ["a long word",      "https://lifeboat.example.workers.dev/clusters/production",      "https://lifeboat.example.workers.dev/clusters/production"],
])("%s is broken between words, or not at all", (_, text, shown) => {
  expect(wrapped(text, 40)).toBe(shown);
});

async function said(machine: object): Promise<readonly string[]> {
  const { host, err } = machineOf(machine);
  await run(["explain", "node", "a", "--kubeconfig", "/nowhere/there/is/no/such/file"], host);
  return err.join("").trimEnd().split("\n");
}

test("a terminal gets its width, a pipe gets whole lines", async () => {
  expect(Math.max(...(await said({ terminal: true, columns: 50 })).map((line) => line.length))).toBeLessThanOrEqual(50);
  expect(await said({})).toHaveLength(1);
});
