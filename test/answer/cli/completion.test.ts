/**
 * Tests that a shell completes commands, options, values, and the names of nodes and VMs. The tests run real shells.
 */
import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { lifeboat } from "../../support/cli/lifeboat.ts";
import { NAMESPACE, startSandboxCluster, type SandboxCluster } from "../../support/installed/worker.ts";

let cluster: SandboxCluster;
beforeAll(async () => {
  cluster = await startSandboxCluster();
  for (const name of ["web", "mail"]) await cluster.createVm({ name, strategy: "LiveMigrate" });
});
afterAll(() => cluster.stop());

async function completed(line: string, kubeconfig = cluster.kubeconfig): Promise<readonly string[]> {
  const log = vi.spyOn(console, "log").mockReturnValue();
  onTestFinished(() => log.mockRestore());
  const words = line.split(" ").map((word) => (word === "_" ? "" : word));
  const file = join(await mkdtemp(join(tmpdir(), "lifeboat-")), "config");
  await writeFile(file, kubeconfig);
  const { run } = await import("../../../infra/cli/run.ts");
  const { machineOf } = await import("../../support/cli/machine.ts");
  const { host, err } = machineOf({});
  expect(await run(["complete", "--", "--kubeconfig", file, ...words], host)).toBe(0);
  expect(err).toEqual([]);
  return log.mock.calls.map(([said]) => String(said).split("\t")[0] ?? "").slice(0, -1);
}

// prettier-ignore
test.each([
  ["dr",                               ["drain"]],
  ["explain _",                        expect.arrayContaining(["node", "pod"])],
  ["explain node _",                   ["node01"]],
  ["drain n",                          ["node01"]],
  ["pause _",                          ["node01"]],
  [`evacuate -n ${NAMESPACE} _`,       ["mail", "web"]],
  ["evacuate _",                       []],
  [`cancel -n ${NAMESPACE} _`,         expect.arrayContaining(["vm/web", "node01"])],
  ["drain --when-blocked _",           expect.arrayContaining(["Wait", "Restart", "ShutDown"])],
  ["install --with g",                 ["guard"]],
  ["explain node node01 --cont",       ["--context"]],
  ["sail _",                           []],
])("lifeboat %s completes to its candidates", async (line, names) => {
  expect((await completed(line)).toSorted()).toEqual(names);
});

test("if the cluster does not answer, the completion suggests nothing and does not fail", async () => {
  expect(await completed("explain node _", "{}")).toEqual([]);
});

test.each(["bash", "zsh", "fish"])("lifeboat completion %s prints a script that calls the command", async (shell) => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  onTestFinished(() => log.mockRestore());
  expect((await lifeboat(`completion ${shell}`, { kubeconfig: "" })).code).toBe(0);
  expect(log.mock.calls.join("\n")).toContain("lifeboat complete -- ");
});

// Normally, the package bash-completion provides `_get_comp_words_by_ref`. This script defines a replacement.
const BASH = `_get_comp_words_by_ref() { cur="\${COMP_WORDS[COMP_CWORD]}"; words=("\${COMP_WORDS[@]}"); }
  source <(lifeboat completion bash)
  COMP_WORDS=(lifeboat expl) COMP_CWORD=1 COMP_LINE="lifeboat expl" COMP_POINT=13
  $(complete -p lifeboat | sed 's/.*-F \\([^ ]*\\).*/\\1/'); echo "\${COMPREPLY[@]}"`;
const FISH = `lifeboat completion fish | source; complete -C "lifeboat expl"`;
/** Zsh completes words only on a terminal, so the script opens a pseudo-terminal. */
const ZSH = `zmodload zsh/zpty
  zpty shell zsh -f -i
  zpty -w shell 'autoload -U compinit; compinit -u -D; source <(lifeboat completion zsh); bindkey "^I" complete-word; echo is-$((1 + 1))'
  zpty -r -m shell seen '*is-2*'
  zpty -w -n shell $'lifeboat expl\\t'
  zpty -r -m shell seen '*explain*'
  print explain`;

const isThere = (shell: string) => spawnSync(shell, ["--version"]).status === 0;

test.each(Object.entries({ bash: BASH, fish: FISH, zsh: ZSH }).filter(([shell]) => shell === "bash" || isThere(shell)))(
  "%s completes a line with the script",
  async (shell, typed) => {
    const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const main = fileURLToPath(new URL("../../../infra/cli/main.ts", import.meta.url));
    const program = join(folder, "lifeboat");
    await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
    await chmod(program, 0o755);
    const env = { ...process.env, HOME: folder, PATH: [folder, process.env["PATH"]].join(delimiter) };
    const { stdout } = await promisify(execFile)(shell, ["-c", typed], { env });
    expect(stdout.trim()).toMatch(/^explain(\t|$)/);
  },
);
