/** `lifeboat install` stops if it may not read what the guard's policies depend on: otherwise it would delete policies. */
import { expect, test } from "vitest";
import type { Connection } from "../../../infra/cli/connection.ts";
import { readGuardSite } from "../../../infra/cli/install/guard.ts";
import { quietHost } from "../../../infra/lab/stage/host.ts";
import { createClient } from "../../../shared/kube/client.ts";
import { type Fetch, sender } from "../../../shared/kube/transport.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";
const CONFIGURATION = "/apis/lifeboat.dev/v1alpha1/lifeboatconfigurations/lifeboat";

function connectionTo(codes: Readonly<Record<string, number>>): Connection {
  const fetchCanned: Fetch = async (at) => {
    const code = codes[new URL(at).pathname] ?? 404;
    return Response.json({ kind: "Status", code }, { status: code });
  };
  const endpoint = { server: "https://api.prod", token: "t", headers: {}, fetch: fetchCanned };
  const { signal } = new AbortController();
  return {
    context: "",
    server: endpoint.server,
    namespace: "default",
    cluster: () => createClient({ endpoint, signal, timeout: () => signal, onOddItem: () => undefined }),
    send: () => sender(endpoint, signal),
    settings: () => Promise.reject(new Error("not asked")),
    refusals: new Map(),
    warnings: new Map(),
    trouble: () => undefined,
  };
}

const read = (codes: Readonly<Record<string, number>>) =>
  readGuardSite({
    connection: connectionTo(codes),
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
