/** Tests that the server always uses the current files of its service account, which the kubelet renews. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { getCACertificates } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { podAccount } from "../../../infra/server/account.ts";
import { createAuthority } from "../../../infra/sandbox/index.ts";

test("a token and an authority that the kubelet has replaced are used at once", async () => {
  const root = await mkdtemp(join(tmpdir(), "pod-"));
  onTestFinished(() => rm(root, { recursive: true }));
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "fd00::1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
  const folder = join(root, "var/run/secrets/kubernetes.io/serviceaccount");
  await mkdir(folder, { recursive: true });
  const account = podAccount(root);
  expect(account.server).toBe("https://[fd00::1]:443");
  const [old, renewed] = await Promise.all(["old", "new"].map(async (name) => (await createAuthority(name)).caPem));
  for (const [token, ...authorities] of [
    ["first", old],
    ["second", old, renewed],
    ["third", renewed],
  ]) {
    await writeFile(join(folder, "ca.crt"), `${authorities.join("\n")}\n`);
    await writeFile(join(folder, "token"), `${token}\n`);
    expect(account.token()).toBe(token);
    expect(sorted(getCACertificates("default"))).toEqual(sorted(authorities));
  }
});

function sorted(pems: readonly (string | undefined)[]) {
  return pems.map((pem = "") => pem.trim()).toSorted();
}
