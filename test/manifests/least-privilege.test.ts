/**
 * Least privilege, shown: each single permission taken away, and the one thing that then fails. That nothing more is needed
 * shows in permissions.test.ts, that the relay's are in test/relay/permissions.test.ts.
 */
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { applyManifests } from "../../infra/sandbox/manifests.ts";
import { openDoors } from "../functions/support/doors.ts";
import { configure, startTestCluster, type TestCluster } from "../functions/support/test-cluster.ts";
import { DEEDS, tidy } from "./deeds.ts";
import { type Need, NEEDS } from "./least-privilege.ts";
import { type Manifest, permissions, readManifests } from "./shipped.ts";
import { without } from "./without.ts";

const infra = fileURLToPath(new URL("../../infra/", import.meta.url));
const rolesOf = (file: string) => readManifests(`../${file}`).filter(({ rules }) => rules !== undefined);

const FILES = globSync("{kubernetes,relay/kubernetes}/**/*.yaml", { cwd: infra })
  .filter((file) => !file.endsWith("kustomization.yaml"))
  .filter((file) => rolesOf(file).length > 0)
  .toSorted();

test("every file that grants something is in the table", () => {
  expect([...new Set(NEEDS.map(({ file }) => file))].toSorted()).toEqual(FILES);
});

test.each(FILES)("%s: every permission has its row in the table, and every row its permission", (file) => {
  const rows = NEEDS.filter((need) => need.file === file).map(({ permission }) => permission);
  expect(rows.toSorted()).toEqual(rolesOf(file).flatMap(permissions).toSorted());
});

describe("without", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startTestCluster();
  });
  afterAll(() => cluster.stop());
  afterEach(() => tidy(cluster));

  const apply = (manifests: readonly Manifest[]) => applyManifests(cluster.client, manifests);
  const grantNothing = (file: string) => apply(rolesOf(file).map((role) => ({ ...role, rules: [] })));
  const PLAIN = "kubernetes/impersonation.yaml";

  /** Of two files of which one does instead of the other, only the one that is tried. */
  async function install(file: string): Promise<void> {
    await apply(readManifests(`../${file}`));
    await (file.endsWith("constrained-impersonation.yaml") ? grantNothing(PLAIN) : apply(rolesOf(PLAIN)));
  }

  /**
   * Does the deed with all permissions up to when it is due, from then on without the one, if there is one. What is optional
   * is granted only meanwhile: two files may grant the same.
   */
  async function attempt({ file, deed }: Need, permission?: string): Promise<readonly string[]> {
    if (deed === "watch") throw new Error("see test/relay/permissions.test.ts");
    const { configuration = {}, given, done } = DEEDS[deed];
    await configure(cluster.client, configuration);
    await install(file);
    const open = () => openDoors({ CLUSTERS: { prod: cluster.entry } });
    await given?.({ cluster, doors: open() });
    const less = rolesOf(file).map((role) => (permission === undefined ? role : without(role, permission)));
    await apply(less);
    const doors = open();
    await done({ cluster, doors });
    await (file.includes("/optional/") ? grantNothing(file) : install(file));
    return doors.forbidden;
  }

  test.each(NEEDS.filter((need) => !isRelays(need)))("$file: $permission: $without", async (need) => {
    const refused = [...new Set(await attempt(need, need.permission))];
    expect(refused).toEqual([need.refused.replace("BUDGET", refused[0]?.split("/").at(-1) ?? "")]);
  });

  const firsts = new Map(NEEDS.filter((need) => !isRelays(need)).map((need) => [need.deed, need]));
  test.each([...firsts.values()])("any: $deed is refused nothing", async (need) => {
    expect(await attempt(need)).toEqual([]);
  });

  test("every deed is one that some permission is for", () => {
    expect([...firsts.keys()].toSorted()).toEqual(Object.keys(DEEDS).toSorted());
  });
});

function isRelays({ file }: Need): boolean {
  return file.startsWith("relay/");
}
