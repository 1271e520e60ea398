/**
 * Tests how `lifeboat doctor` reads Deployments, refused webhooks, and the fields of the KubeVirt object. The sandbox
 * gives no such answers.
 */
import { expect, test } from "vitest";
import { examine } from "../../../infra/cli/doctor/doctor.ts";
import { evictionAnswered } from "../../../infra/cli/doctor/eviction.ts";
import { readsOf } from "../../../infra/cli/doctor/reads.ts";
import type { Fetch } from "../../../shared/kube/transport.ts";
import { connectionTo } from "../../support/cli/canned.ts";
import { KUBEVIRT_KINDS, NOW, reads } from "./doctor-facts.ts";

const meta = (name: string, namespace = "") => ({ metadata: { name, namespace, uid: "u-1", resourceVersion: "1" } });
const list = (...items: readonly object[]) => ({ kind: "List", items });
const resources = (...names: readonly string[]) => ({
  kind: "APIResourceList",
  resources: names.map((name) => ({ name })),
});

const KUBEVIRT = {
  ...meta("kubevirt-kubevirt", "openshift-cnv"),
  spec: {},
  status: { observedKubeVirtVersion: "v1.8.2" },
};
const VMI = {
  ...meta("web", "apps"),
  spec: { evictionStrategy: "LiveMigrate", domain: {} },
  status: { phase: "Running", nodeName: "n-1", conditions: [{ type: "LiveMigratable", status: "True" }] },
};
const POD = { ...meta("virt-launcher-web-abcde", "apps"), spec: { nodeName: "n-1" }, status: { phase: "Running" } };

const ANSWERS: Readonly<Record<string, object>> = {
  "/version": { minor: "36", gitVersion: "v1.36.0" },
  "/apis/kubevirt.io/v1": resources(...KUBEVIRT_KINDS),
  "/apis/kubevirt.io/v1/kubevirts": list(KUBEVIRT),
  "/apis/kubevirt.io/v1/virtualmachineinstances": list(VMI),
  "/api/v1/namespaces/apps/pods": list(POD),
};

interface CannedAnswer {
  readonly code?: number;
  readonly body?: object;
}

/** Answers requests with the given answers, or with 404. Every access review is allowed. */
function canned(answers: Readonly<Record<string, CannedAnswer>> = {}) {
  const asked: { readonly method: string; readonly path: string; readonly query: unknown; readonly body: unknown }[] =
    [];
  const answerTo = (path: string): CannedAnswer => {
    if (path.endsWith("accessreviews")) return { code: 201, body: { status: { allowed: true } } };
    const body = ANSWERS[path];
    return answers[path] ?? (body === undefined ? { code: 404 } : { body });
  };
  const fetchCanned: Fetch = async (at, { method = "GET", body }) => {
    const { pathname: path, searchParams } = new URL(at);
    const query = Object.fromEntries(searchParams);
    asked.push({ method, path, query, body: typeof body === "string" ? JSON.parse(body) : undefined });
    const { code = 200, body: said = {} } = answerTo(path);
    const status = code < 400 ? {} : { kind: "Status", code };
    return Response.json({ ...status, ...said }, { status: code });
  };
  return { asked, connection: connectionTo(fetchCanned) };
}

test("the message about a webhook that cannot be called does not repeat its URL, which contains the token", async () => {
  const message =
    'Internal error occurred: failed calling webhook "evictions.lifeboat.dev": failed to call webhook: Post "https://lifeboat.test/clusters/prod/admission/evictions/secret?timeout=10s": EOF';
  const path = "/api/v1/namespaces/apps/pods/virt-launcher-web-abcde/eviction";
  const { asked, connection } = canned({ [path]: { code: 500, body: { message } } });
  const trial = { value: await readsOf(connection, NOW).trial() };
  const said = JSON.stringify(await evictionAnswered(reads({ trial })));
  expect(asked.find((request) => request.path === path)).toMatchObject({
    method: "POST",
    query: { dryRun: "All" },
    body: { deleteOptions: { dryRun: ["All"] } },
  });
  expect(said).toContain("the API server asks Lifeboat, and gets no answer");
  expect(said).toContain("https://lifeboat.test/…");
  expect(said).not.toContain("secret");
});

// prettier-ignore
test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  ["whose strategy is None", { evictionStrategy: "None" }, {}],
  ["that cannot migrate",    {}, { conditions: [{ type: "LiveMigratable", status: "False" }] }],
  ["that is about to leave", {}, { evacuationNodeName: "n-1" }],
  ["that does not run",      {}, { phase: "Scheduled" }],
])("the trial eviction does not use a VM %s, whose answer would prove nothing", async (_, spec, status) => {
  const vmi = { ...VMI, spec: { ...VMI.spec, ...spec }, status: { ...VMI.status, ...status } };
  const { connection } = canned({ "/apis/kubevirt.io/v1/virtualmachineinstances": { body: list(vmi) } });
  expect(await readsOf(connection, NOW).trial()).toMatchObject({ pod: undefined });
});

test("the doctor sends only dry runs and reads", async () => {
  const { asked, connection } = canned({
    "/apis/lifeboat.dev/v1alpha1": { body: resources("evacuations", "lifeboatconfigurations") },
  });
  await examine(readsOf(connection, NOW));
  const writing = asked.filter(({ method, path }) => method !== "GET" && !path.endsWith("accessreviews"));
  expect(writing.map(({ method, path, query }) => [method, path, query])).toEqual([
    ["POST", "/api/v1/namespaces/apps/pods/virt-launcher-web-abcde/eviction", { dryRun: "All" }],
  ]);
});
