/** Leases and events: their validation, in both groups of events; times; a PUT that creates. */
import { contract } from "./contract.ts";
import { configMap, get, patch, post, put } from "./requests.ts";

const LEASES = "coordination.k8s.io/v1/leases";
const TIME = "2026-11-20T00:00:00.123456Z";

function lease(name: string, spec: object, metadata: object = {}): Record<string, unknown> {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, ...metadata }, spec };
}

const notParsed = (kind: string, why: string) => ({
  code: 400,
  reason: "BadRequest",
  message: `${kind} in version "v1" cannot be handled as a ${kind}: ${why}`,
});

const invalidLease = (message: string) => ({
  code: 422,
  reason: "Invalid",
  message: `Lease.coordination.k8s.io "l" is invalid: spec.${message}`,
});

contract("leases", ({ asks, given }) => {
  const asked = (spec: object) => post(`${LEASES}?dryRun=All`, lease("l", spec));
  asks("a duration below 1", asked({ leaseDurationSeconds: -1 }), {
    ...invalidLease("leaseDurationSeconds: Invalid value: -1: must be greater than 0"),
  });
  asks("negative transitions", asked({ leaseTransitions: -1 }), {
    ...invalidLease("leaseTransitions: Invalid value: -1: must be greater than or equal to 0"),
  });
  asks("no duration, no transitions", asked({ leaseTransitions: 0 }), { code: 201 });
  asks("half a second", asked({ leaseDurationSeconds: 1.5 }), {
    ...notParsed(
      "Lease",
      "json: cannot unmarshal number 1.5 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
    ),
  });
  asks("more than an int32", asked({ leaseDurationSeconds: 3_000_000_000 }), { code: 400 });

  const layout = '" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ';
  // prettier-ignore
  const rows = [
    // time                                  in the answer, or what is wrong
    ["2026-11-20T01:00:00.123456+01:00",    "2026-11-20T00:00:00.123456Z"],
    ["2026-11-20T00:00:00.000000Z",         "2026-11-20T00:00:00.000000Z"],
    ["2026-11-20T00:00:00.123Z",            `parsing time "2026-11-20T00:00:00.123Z${layout}".123Z" as ".000000"`],
    ["2026-11-20T00:00:00.123456789Z",      `parsing time "2026-11-20T00:00:00.123456789Z${layout}"789Z" as "Z07:00"`],
    ["2026-11-20 00:00:00.123456Z",         `parsing time "2026-11-20 00:00:00.123456Z${layout}" 00:00:00.123456Z" as "T"`],
    ["2026-11-20T00:00:00.123456Zx",        `parsing time "2026-11-20T00:00:00.123456Zx": extra text: "x"`],
    ["2026-02-30T00:00:00.123456Z",         `parsing time "2026-02-30T00:00:00.123456Z": day out of range`],
    ["",                                    `parsing time "${layout}"" as "2006"`],
  ] as const;
  for (const [time, result] of rows) {
    const answer = result.startsWith("2026") ? { code: 201, "spec.renewTime": result } : notParsed("Lease", result);
    asks(`renewed at ${JSON.stringify(time)}`, asked({ renewTime: time }), answer);
  }

  given("a PUT that creates", put(`${LEASES}/new`, lease("new", { holderIdentity: "a", renewTime: TIME })));
  asks("did", get(`${LEASES}/new`), { code: 200, "spec.holderIdentity": "a", "spec.renewTime": TIME });
  asks("of another uid it does not", put(`${LEASES}/other`, lease("other", {}, { uid: "u-1" })), {
    code: 409,
    reason: "Conflict",
    message:
      /^Operation cannot be fulfilled on leases\.coordination\.k8s\.io "other": StorageError: .+: u-1, UID in object meta: $/,
  });
  asks("of another name it does not", put(`${LEASES}/one`, lease("two", {})), { code: 400, reason: "BadRequest" });
  asks("other kinds it does not", put("configmaps/none", configMap("none")), { code: 404 });
});

const CORE = {
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: "e" },
  involvedObject: { kind: "Pod", name: "p" },
  reason: "Tested",
  message: "hello",
  type: "Normal",
};

const MODERN = {
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name: "m" },
  eventTime: TIME,
  reportingController: "example.com/x",
  reportingInstance: "x-1",
  action: "Test",
  reason: "Tested",
  note: "hello",
  type: "Normal",
};

const about = (of: string) => ({ involvedObject: { kind: "Pod", name: "p", namespace: of } });

const elsewhere = (value: string) => ({
  code: 422,
  message: `Event "e" is invalid: involvedObject.namespace: Invalid value: "${value}": does not match event.namespace`,
});

contract("events of the core group", ({ asks, namespace }) => {
  const event = (more: object) => post("events?dryRun=All", { ...CORE, ...more });
  const here = about(namespace);
  const modern = { eventTime: TIME, reportingComponent: "example.com/x", reportingInstance: "x-1", action: "Test" };
  asks("about an object here", event(here), { code: 201 });
  asks("about an object elsewhere", event(about("elsewhere")), elsewhere("elsewhere"));
  asks("about an object of no namespace", event({}), elsewhere(""));
  asks("that one lies in default", post("/api/v1/namespaces/default/events?dryRun=All", CORE), { code: 201 });
  asks("of the newer form: elsewhere is fine", event({ ...about("elsewhere"), ...modern }), { code: 201 });
  asks("of the newer form: nowhere is not", event(modern), elsewhere(""));
  asks("of the newer form: without an action", event({ ...here, ...modern, action: "" }), {
    code: 422,
    message: 'Event "e" is invalid: action: Required value',
  });
  asks("of the newer form: without a reporter", event({ ...here, ...modern, reportingComponent: "" }), {
    code: 422,
    message: 'Event "e" is invalid: reportingController: Required value',
  });
  asks("times lose their fractions", event({ ...here, firstTimestamp: "2026-11-20T01:00:00.9+01:00" }), {
    code: 201,
    firstTimestamp: "2026-11-20T00:00:00Z",
  });
  asks("a name as only events have", event({ ...here, metadata: { name: "Upper.1" } }), { code: 201 });
});

const invalidEvent = (...fields: readonly string[]) => ({
  code: 422,
  "details.kind": "Event",
  "details.causes.field": fields,
});

contract("events of events.k8s.io", ({ asks, given, namespace }) => {
  const place = "events.k8s.io/v1/events";
  const regarding = { kind: "Pod", name: "p", namespace };
  const event = (more: object) => post(`${place}?dryRun=All`, { ...MODERN, regarding, ...more });
  const change = (more: object) => patch(`${place}/m`, "merge", more);
  asks("a whole one", event({}), { code: 201 });
  asks("without a time", event({ eventTime: null }), invalidEvent("eventTime"));
  asks("without an instance", event({ reportingInstance: "" }), invalidEvent("reportingInstance"));
  asks("of an odd type", event({ type: "Odd" }), invalidEvent("type"));
  asks(
    "with what is of the older form",
    event({ deprecatedCount: 1, deprecatedFirstTimestamp: "2026-11-20T00:00:00Z" }),
    {
      ...invalidEvent("firstTimestamp", "count"),
    },
  );
  asks("a series of one", event({ series: { count: 1, lastObservedTime: TIME } }), invalidEvent("series.count"));
  asks("a series without a time", event({ series: { count: 2 } }), invalidEvent("series.lastObservedTime"));
  asks("too long a reason", event({ reason: "r".repeat(129) }), invalidEvent("reason"));
  asks("a long note", event({ note: "n".repeat(1024) }), { code: 201 });

  given("one", post(place, { ...MODERN, regarding }));
  for (const fixed of [{ reason: "Other" }, { type: "Warning" }, { regarding: { name: "q" } }, { action: "Other" }]) {
    asks(`${Object.keys(fixed)[0]} is fixed`, change(fixed), { code: 422 });
  }
  asks("labels are not", change({ metadata: { labels: { a: "1" } } }), { code: 200 });
  asks("nor is it for the core group", patch("events/m", "merge", { message: "other" }), {
    code: 200,
    message: "other",
  });
  asks("a PUT creates", put("events/new", { ...CORE, metadata: { name: "new" }, involvedObject: regarding }), {
    code: 201,
  });
});
