/**
 * Least privilege, shown: each single permission taken away, the one request that is then refused, and what no longer works.
 * With all of them it works, and nothing is refused. The relay's permissions: test/relay/permissions.test.ts.
 */
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { configureLifeboat } from "../../../infra/lab/stage/apply.ts";
import { applyManifests } from "../../../infra/sandbox/manifests.ts";
import { openDoors } from "../../support/doors.ts";
import { startTestCluster, type TestCluster } from "../../support/test-cluster.ts";
import type { After } from "../../support/manifests/consequences.ts";
import { type Deed, DEEDS } from "../../support/manifests/deeds.ts";
import { NEEDS, RELAYS_NEEDS } from "../../support/manifests/least-privilege.ts";
import { granted, type Manifest, permissions, readManifests, TOKEN, without } from "../../support/manifests/shipped.ts";
import { tidy } from "../../support/manifests/situations.ts";
import type { Trial } from "../../support/manifests/trial.ts";

const infra = fileURLToPath(new URL("../../../infra", import.meta.url));
const rolesOf = (file: string) => granted(readManifests(`../${file}`));

const FILES = globSync("{kubernetes,relay/kubernetes}/**/*.yaml", { cwd: infra })
  .filter((file) => !file.endsWith("kustomization.yaml") && !file.endsWith(TOKEN))
  .filter((file) => rolesOf(file).length > 0)
  .toSorted();

const ALL = [...NEEDS, ...RELAYS_NEEDS];

test("every file that grants Lifeboat something is in the table", () => {
  expect([...new Set(ALL.map(({ file }) => file))].toSorted()).toEqual(FILES);
});

test.each(FILES)("%s: every permission has its row in the table, and every row its permission", (file) => {
  const rows = new Set(ALL.filter((need) => need.file === file).map(({ permission }) => permission));
  expect([...rows].toSorted()).toEqual(rolesOf(file).flatMap(permissions).toSorted());
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
  const install = (file: string) => apply(readManifests(`../${file}`));

  /**
   * Does the deed with all permissions up to when it is due, from then on without the one, if there is one. What is optional
   * is granted only meanwhile: two files may grant the same.
   */
  async function attempt(file: string, deed: Deed, permission?: string): Promise<After> {
    const { configuration, takes, given, done, meanwhile } = DEEDS[deed];
    const files = [...new Set([file, takes ?? file])];
    if (configuration !== undefined) await configureLifeboat(cluster.client, configuration);
    for (const each of files) await install(each);
    const open = (): Trial => {
      const doors = openDoors({ CLUSTERS: { prod: cluster.entry } }, (request, { body }) => {
        return meanwhile?.({ cluster, doors }, request, typeof body === "string" ? JSON.parse(body) : undefined);
      });
      // The API server goes by the real time, which Lifeboat compares with its own.
      doors.pass((Date.now() - doors.now().getTime()) / 1000 + 60);
      return { cluster, doors };
    };
    await given?.(open());
    const less = rolesOf(file).map((role) => (permission === undefined ? role : without(role, permission)));
    await apply(less);
    const trial = open();
    const answer = await done(trial);
    for (const each of files) await (each.includes("/optional/") ? grantNothing(each) : install(each));
    return { ...trial, answer };
  }

  test.each(NEEDS)("$file: $permission: $without", async (need) => {
    const after = await attempt(need.file, need.deed, need.permission);
    const refused = [...new Set(after.doors.forbidden)];
    expect(refused).toEqual([need.refused.replace("NAME", refused[0]?.split("/").at(-1) ?? "")]);
    expect(await need.shown(after)).toBe(true);
  });

  const tried = new Map(NEEDS.map((need) => [`${need.file}: ${need.deed}`, need]));
  test.each([...tried])("with all of %s", async (_, { file, deed }) => {
    const after = await attempt(file, deed);
    expect(after.doors.forbidden).toEqual([]);
    const needs = NEEDS.filter((need) => need.file === file && need.deed === deed);
    for (const { shown, without: said } of needs) expect(await shown(after), said).toBe(false);
  });

  test("every deed is one that some permission is for", () => {
    expect(new Set(NEEDS.map(({ deed }) => deed))).toEqual(new Set(Object.keys(DEEDS)));
  });
});
