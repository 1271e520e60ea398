/**
 * Tests that `lifeboat install` stops if it may not read the Lease or the LifeboatConfiguration. Otherwise, the command
 * could delete the guard's policies by mistake.
 */
import { expect, test } from "vitest";
import { readGuardSite } from "../../../infra/cli/install/guard.ts";
import { quietHost } from "../../../infra/lab/stage/host.ts";
import type { Fetch } from "../../../shared/kube/transport.ts";
import { connectionTo } from "../../support/cli/canned.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";
const CONFIGURATION = "/apis/lifeboat.dev/v1alpha1/lifeboatconfigurations/lifeboat";

function answering(codes: Readonly<Record<string, number>>): Fetch {
  return async (at) => {
    const code = codes[new URL(at).pathname] ?? 404;
    return Response.json({ kind: "Status", code }, { status: code });
  };
}

const read = (codes: Readonly<Record<string, number>>) =>
  readGuardSite({
    connection: connectionTo(answering(codes)),
    host: quietHost(() => undefined),
    kubevirtNamespace: "kubevirt",
    gates: [],
  });

test.each([
  ["the Lease", LEASE],
  ["the LifeboatConfiguration", CONFIGURATION],
])("without the permission to read %s, the installation stops", async (_, path) => {
  await expect(read({ [path]: 403 })).rejects.toThrow("403");
  expect(await read({})).toMatchObject({ clock: undefined, featureGates: [] });
});
