/** What the body and the query of an eviction may contain. */
import { contract } from "./contract.ts";
import { del, get, pod, post } from "./requests.ts";

const eviction = (metadata: object, more: object = {}) => ({
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata,
  ...more,
});
const options = (deleteOptions: object) => eviction({ name: "p" }, { deleteOptions });
const BAD = { code: 400, reason: "BadRequest" } as const;
const OTHER_NAME = { ...BAD, message: "name in URL does not match name in Eviction object" };

contract("the body of an eviction", ({ asks, given, namespace }) => {
  given("a pod", post("pods", pod("p", { spec: { nodeName: "somewhere" } })));

  // prettier-ignore
  const rows = [
    // what                        query          body                                                     answer
    ["nothing",                    "",            {},                                                      OTHER_NAME],
    ["no name",                    "",            eviction({}),                                            OTHER_NAME],
    ["its own namespace",          "?dryRun=All", eviction({ name: "p", namespace }),                      { code: 201 }],
    ["another namespace",          "",            eviction({ name: "p", namespace: "elsewhere" }),
      { ...BAD, message: "the namespace of the provided object does not match the namespace sent on the request" }],
    ["another kind",               "",            { ...eviction({ name: "p" }), kind: "Pod" },             BAD],
    ["the older version",          "?dryRun=All", { ...eviction({ name: "p" }), apiVersion: "policy/v1beta1" }, { code: 201 }],
    ["a version there is not",     "",            { ...eviction({ name: "p" }), apiVersion: "policy/v2" }, BAD],
    ["a grace that is no number",  "",            options({ gracePeriodSeconds: "soon" }),                 BAD],
    ["an unknown dry run",         "",            options({ dryRun: ["Some"] }),
      { code: 422, reason: "Invalid", message: 'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"' }],
    ["an unknown dry run, query",  "?dryRun=Some", eviction({ name: "p" }),                                { code: 422, reason: "Invalid" }],
    ["two dry runs that differ",   "?dryRun=All", options({ dryRun: ["Some"] }),
      { code: 500, reason: undefined, message: "Non-matching dry-run options in request and content: [All] and [Some]" }],
    ["the same dry run twice",     "?dryRun=All", options({ dryRun: ["All"] }),                            { code: 201 }],
    ["another uid",                "",            options({ preconditions: { uid: "0-0" } }),              { code: 409, reason: "Conflict" }],
    ["another resourceVersion",    "",            options({ preconditions: { resourceVersion: "1" } }),    { code: 409, reason: "Conflict" }],
    ["the same, as a dry run",     "?dryRun=All", options({ preconditions: { resourceVersion: "1" } }),
      { code: 409, message: /the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record \(\d+\)/ }],
  ] as const;
  for (const [what, query, body, answer] of rows) asks(what, post(`pods/p/eviction${query}`, body), answer);

  asks("none of these touched the pod", get("pods/p"), {
    code: 200,
    "metadata.deletionTimestamp": undefined,
    "status.conditions.0": undefined,
  });
  asks(
    "in a namespace that is not there",
    post("/api/v1/namespaces/nowhere-at-all/pods/p/eviction", eviction({ name: "p" })),
    {
      code: 404,
      message: 'namespaces "nowhere-at-all" not found',
    },
  );
});

contract("a namespace that ends", ({ asks, given, namespace }) => {
  given("a pod in it", post("pods", pod("p", { metadata: { finalizers: ["example.com/keep"] } })));
  given("an account", post("serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "a" } }));
  given("it is deleted", del("/api/v1/namespaces/{ns}"));
  const refused = (resource: string, name: string) => ({
    code: 403,
    reason: "Forbidden",
    message: `${resource} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
    "details.causes.0.reason": "NamespaceTerminating",
  });
  asks("evicts nothing", post("pods/p/eviction", eviction({ name: "p" })), refused("pods", "p"));
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  asks("issues no tokens", post("serviceaccounts/a/token", request), refused("serviceaccounts", "a"));
});
