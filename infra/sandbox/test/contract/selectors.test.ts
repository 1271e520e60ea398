/** Selectors: unusual forms, and the texts of refusals. */
import { contract } from "./contract.ts";
import { configMap, get, pod, post } from "./requests.ts";

contract("label selectors, read as labels are", ({ asks, given }) => {
  const labels = [{ app: "s", tier: "x" }, { app: "s", tier: "y" }, { app: "s" }];
  for (const [index, each] of labels.entries()) {
    given(`config map c${index}`, post("configmaps", configMap(`c${index}`, { metadata: { labels: each } })));
  }
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["app = s , tier = y", ["c1"]],
    ["app=s,tier in (x,,z)", ["c0"]],
    ["app=s,tier=", []],
    ["app=s,tier notin ()", ["c0", "c1", "c2"]],
    ["app in (in, s)", ["c0", "c1", "c2"]],
    ["app=s,tier>1", []],
  ];
  for (const [selector, names] of rows) {
    asks(selector, get(`configmaps?labelSelector=${encodeURIComponent(selector)}`), {
      code: 200,
      "items.metadata.name": names,
    });
  }
  const refused: readonly (readonly [string, string])[] = [
    ["a=(b", "unable to parse requirement: found '(', expected: identifier"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    [
      "a>x",
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
    ["=a", "found '=', expected: !, identifier, or 'end of string'"],
    ["!a=b", "found '=', expected: ',' or 'end of string'"],
    ["a,", "found '', expected: identifier after ','"],
    ["a,,b", "found ',', expected: identifier after ','"],
  ];
  for (const [selector, message] of refused) {
    asks(`refused: ${selector}`, get(`configmaps?labelSelector=${encodeURIComponent(selector)}`), {
      code: 400,
      reason: "BadRequest",
      message,
    });
  }
  for (const [key, message] of [
    ["-a", /^unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of /],
    ["/a", /: prefix part must be non-empty$/],
    ["A_b/c", /: prefix part a lowercase RFC 1123 subdomain must /],
    ["a/", /: name part must be non-empty; name part must consist of /],
    [
      `a=${"x".repeat(64)}`,
      /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "x+": must be no more than 63 bytes$/,
    ],
  ] as const) {
    asks(`no label: ${key}`, get(`configmaps?labelSelector=${encodeURIComponent(key)}`), { code: 400, message });
  }
});

contract("field selectors, escaped and not", ({ asks, given }) => {
  const labels = { a: "b" };
  given("a bound pod", post("pods", pod("bound", { metadata: { labels }, spec: { nodeName: "somewhere" } })));
  given("an unbound pod", post("pods", pod("unbound", { metadata: { labels }, spec: { hostNetwork: true } })));
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["metadata.name==bound,status.phase=Pending,", ["bound"]],
    ["metadata.namespace=elsewhere", []],
    ["spec.host=somewhere", ["bound"]],
    ["spec.hostNetwork=false", ["bound"]],
    ["spec.hostNetwork=true", ["unbound"]],
    [String.raw`spec.nodeName!=a\,b\=c\\`, ["bound", "unbound"]],
  ];
  for (const [selector, names] of rows) {
    asks(selector, get(`pods?fieldSelector=${encodeURIComponent(selector)}&labelSelector=a=b`), {
      code: 200,
      "items.metadata.name": names,
    });
  }
  const plain = 'is not a known field selector: only "metadata.name", "metadata.namespace"';
  const refused: readonly (readonly [string, string, string])[] = [
    ["pods", "spec.containers=x", "field label not supported: spec.containers"],
    ["pods", "nonsense", "invalid selector: 'nonsense'; can't understand 'nonsense'"],
    ["pods", "spec.nodeName=a=b", "invalid field selector: unescaped character in value: 61"],
    ["pods", String.raw`spec.nodeName=a\b`, String.raw`invalid field selector: invalid escape sequence: \b`],
    ["pods", "spec.nodeName=a\\", "invalid field selector: invalid escape sequence: \\"],
    ["configmaps", "data.a=x", `"data.a" ${plain}`],
    ["example/widgets", "status.node=x", "field label not supported: status.node"],
    ["/api/v1/nodes", "metadata.namespace=x", "field label not supported: metadata.namespace"],
  ];
  for (const [place, selector, message] of refused) {
    const query = `fieldSelector=${encodeURIComponent(selector)}`;
    for (const watch of ["", "&watch=1"])
      asks(`refused: ${place} by ${selector}${watch}`, get(`${place}?${query}${watch}`), {
        code: 400,
        reason: "BadRequest",
        message,
      });
  }
});
