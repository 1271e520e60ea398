/** The options of a deletion: in the body or in the query, and which are refused. */
import { contract } from "./contract.ts";
import { configMap, del, get, patch, pod, post } from "./requests.ts";

const BAD = { code: 400, reason: "BadRequest" } as const;

const invalid = (message: string) => ({
  code: 422,
  reason: "Invalid",
  message: `DeleteOptions.meta.k8s.io "" is invalid: ${message}`,
});

const BOTH = "orphanDependents and deletionPropagation cannot be both set";

contract("options of a deletion", ({ asks, given }) => {
  given("an object", post("configmaps", configMap("c")));

  // prettier-ignore
  const rows = [
    // query                                          body                                                              answer
    ["",                                              { propagationPolicy: "Some" },                                    invalid('propagationPolicy: Unsupported value: "Some": supported values: "Foreground", "Background", "Orphan", "nil"')],
    ["?propagationPolicy=Some",                       undefined,                                                        { code: 422 }],
    ["",                                              { propagationPolicy: "Orphan", orphanDependents: true },          invalid(`propagationPolicy: Invalid value: "Orphan": ${BOTH}`)],
    ["?propagationPolicy=Orphan&orphanDependents=0",  undefined,                                                        { code: 422 }],
    ["",                                              { dryRun: ["Some"] },                                             invalid('dryRun: Unsupported value: ["Some"]: supported values: "All"')],
    ["",                                              { dryRun: "All" },                                                BAD],
    ["",                                              { gracePeriodSeconds: "5" },                                      { ...BAD, message: "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64" }],
    ["",                                              { gracePeriodSeconds: 1.5 },                                      BAD],
    ["?gracePeriodSeconds=99999999999999999999",      undefined,                                                        { ...BAD, message: 'strconv.ParseInt: parsing "99999999999999999999": value out of range' }],
    ["?gracePeriodSeconds=soon",                      undefined,                                                        { ...BAD, message: 'strconv.ParseInt: parsing "soon": invalid syntax' }],
    ["",                                              { kind: "Eviction", apiVersion: "policy/v1" },                    { ...BAD, message: /^no kind "Eviction" is registered for version "policy\/v1" in scheme / }],
    ["?uid=u-1",                                      undefined,                                                        { code: 409 }],
    ["?resourceVersion=1",                            undefined,                                                        { code: 409 }],
    ["?uid=u-1",                                      { dryRun: ["All"] },                                              { code: 200 }],
    ["",                                              { kind: "DeleteOptions", apiVersion: "apps/v1", dryRun: ["All"] }, { code: 200 }],
    ["",                                              { dryRun: ["All"], preconditions: null, colour: "red" },          { code: 200 }],
  ] as const;
  for (const [query, body, answer] of rows)
    asks(`${query} ${JSON.stringify(body)}`, del(`configmaps/c${query}`, body), answer);

  asks("it is still there", get("configmaps/c"), { code: 200, "metadata.deletionTimestamp": undefined });
  asks("beside a body no query counts", del("configmaps/c?dryRun=All", {}), { code: 200 });
  asks("so it is gone", get("configmaps/c"), { code: 404 });
});

const held = (name: string, ...finalizers: string[]) =>
  post("configmaps", configMap(name, { metadata: { finalizers } }));

const finalizers = (...list: string[]) => ({ code: 200, "metadata.finalizers": list });

contract("dependents", ({ asks, given, namespace }) => {
  given("an object", held("c", "x.io/a"));
  asks("orphaned, the older way", del("configmaps/c", { orphanDependents: true }), finalizers("x.io/a", "orphan"));
  asks("not orphaned after all, which is only accepted", del("configmaps/c", { orphanDependents: false }), {
    ...finalizers("x.io/a"),
    code: 202,
  });
  asks("deleted before it", del("configmaps/c", { propagationPolicy: "Foreground" }), {
    ...finalizers("x.io/a", "foregroundDeletion"),
  });
  asks("as it stands", del("configmaps/c"), finalizers("x.io/a", "foregroundDeletion"));
  given("its own finalizer goes", patch("configmaps/c", "merge", { metadata: { finalizers: ["foregroundDeletion"] } }));
  asks("in the background it can go at once", del("configmaps/c", { propagationPolicy: "Background" }), { code: 200 });
  asks("as well", get("configmaps/c"), { code: 404 });
  given("an event", post("events", { metadata: { name: "e" }, involvedObject: { namespace } }));
  asks("has none", del("events/e", { propagationPolicy: "Orphan" }), { code: 200, kind: "Status" });
});

const bound = (name: string, more: object = {}) =>
  post("pods", pod(name, { spec: { nodeName: "somewhere", ...more } }));

const grace = (seconds: number) => ({ code: 200, "metadata.deletionGracePeriodSeconds": seconds });

contract("grace", ({ asks, given }) => {
  given("a pod", bound("p"));
  asks("below nothing", del("pods/p?dryRun=All&gracePeriodSeconds=-5"), grace(1));
  asks("of centuries", del("pods/p?dryRun=All&gracePeriodSeconds=10000000000"), grace(10_000_000_000));
  asks("of its own", del("pods/p"), grace(30));
  asks("no longer", del("pods/p?gracePeriodSeconds=31"), grace(30));
  given("it finishes", patch("pods/p/status", "merge", { status: { phase: "Succeeded" } }));
  asks("which does not end its time", del("pods/p"), grace(30));
  asks(
    "its grace is not its own to change",
    patch("pods/p", "merge", { metadata: { deletionGracePeriodSeconds: 1 } }),
    {
      code: 422,
    },
  );
  asks(
    "nor is the end",
    patch("pods/p", "merge", { metadata: { deletionTimestamp: null, labels: { a: "1" } } }),
    grace(30),
  );
  asks("at once", del("pods/p?gracePeriodSeconds=0"), grace(0));
  asks("so it is gone", get("pods/p"), { code: 404 });

  given("a pod without grace of its own", bound("q", { terminationGracePeriodSeconds: 0 }));
  asks("may have some", del("pods/q", { gracePeriodSeconds: 7 }), grace(7));
  given("a held pod", post("pods", pod("h", { spec: { nodeName: "n" }, metadata: { finalizers: ["x.io/a"] } })));
  asks("has its time, too", del("pods/h"), { ...grace(30), "metadata.finalizers": ["x.io/a"] });
  given("nothing holds it", patch("pods/h", "merge", { metadata: { finalizers: null } }));
  asks("and still has time", get("pods/h"), grace(30));
});

contract("a collection in parts", ({ asks, given }) => {
  for (const name of ["a", "b", "c"])
    given(name, post("configmaps", configMap(name, { metadata: { labels: { x: "y" } } })));
  asks("a dry run", del("configmaps?labelSelector=x=y&dryRun=All"), {
    code: 200,
    "items.metadata.name": ["a", "b", "c"],
  });
  asks("one of them", del("configmaps?labelSelector=x=y&limit=1"), { code: 200, "items.metadata.name": ["a"] });
  asks("the others", get("configmaps?labelSelector=x=y"), { code: 200, "items.metadata.name": ["b", "c"] });
  asks("an unknown option", del("configmaps?labelSelector=x=y", { propagationPolicy: "Some" }), { code: 422 });
});
