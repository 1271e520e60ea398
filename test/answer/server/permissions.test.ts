/** What stops without each permission that the server has of its own. What it watches: test/answer/relay/permissions.test.ts. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSteppedClock } from "../../../infra/sandbox/actors/clock.ts";
import { secrets } from "../../../infra/sandbox/actors/resources.ts";
import { applyManifests } from "../../../infra/sandbox/manifests.ts";
import { reconcileIdentity } from "../../../infra/server/keeper.ts";
import { Leadership } from "../../../infra/server/leadership.ts";
import { SERVER } from "../../../infra/lab/stage/in-cluster.ts";
import { SERVERS_NEEDS, SERVERS_WATCHES, type ServersNeed } from "../../support/manifests/least-privilege.ts";
import { granted, permissions, readManifests, without } from "../../support/manifests/shipped.ts";
import { type Installed, startInstalled } from "../../support/server/installed.ts";

const shipped = readManifests("../server/kubernetes/component/rbac.yaml");
let installed: Installed;
beforeAll(async () => {
  installed = await startInstalled(["optional/guard/guard.yaml"]);
});
afterAll(() => installed.sandbox.stop());

const clock = createSteppedClock();

const DEEDS: Readonly<Record<ServersNeed["deed"], () => Promise<void>>> = {
  /** Its first start, until there is nothing to do for now. */
  async "keep certificate and webhooks"() {
    const options = { cluster: "local", connect: installed.connect, clock, onFailure: () => undefined };
    while ((await reconcileIdentity({ ...options, use: () => undefined })) === 0);
  },
  async "hold the Lease"() {
    const leadership = new Leadership({ identity: "a", connect: installed.connect, clock, onFailure: () => undefined });
    await leadership.look();
  },
};

test.each(SERVERS_NEEDS)("without $permission: $without", async ({ permission, deed }) => {
  const { client } = installed.sandbox;
  await client.patch(secrets, SERVER, { type: "merge", body: { data: null } });
  await applyManifests(
    client,
    shipped.map((manifest) => without(manifest, permission)),
  );
  await expect(DEEDS[deed]()).rejects.toMatchObject({ failure: { reason: "Refused", code: 403 } });
  await applyManifests(client, shipped);
  await DEEDS[deed]();
});

test("there is a row for each permission", () => {
  const rows = [...SERVERS_NEEDS, ...SERVERS_WATCHES].map(({ permission }) => permission);
  expect(rows.toSorted()).toEqual(granted(shipped).flatMap(permissions).toSorted());
});
