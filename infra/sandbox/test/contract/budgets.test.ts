/** Which disruption budgets are refused, and the effect of patches. */
import { contract } from "./contract.ts";
import { patch, post } from "./requests.ts";

const BUDGETS = "policy/v1/poddisruptionbudgets";
const budget = (spec: object, name = "x") => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name },
  spec,
});
const selecting = (requirement: object) => ({ minAvailable: 1, selector: { matchExpressions: [requirement] } });
const refused = (about: string) => ({
  code: 422,
  reason: "Invalid",
  message: `PodDisruptionBudget.policy "x" is invalid: spec.${about}`,
});
const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' " +
  "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

contract("a budget's limits", ({ asks }) => {
  // prettier-ignore
  const rows = [
    // spec                                            answer
    [{ minAvailable: 0 },                              { code: 201 }],
    [{ minAvailable: "0%" },                           { code: 201 }],
    [{ maxUnavailable: "100%" },                       { code: 201 }],
    [{},                                               { code: 201 }],
    [{ minAvailable: -1 },                             refused("minAvailable: Invalid value: -1: must be greater than or equal to 0")],
    [{ maxUnavailable: -3 },                           refused("maxUnavailable: Invalid value: -3: must be greater than or equal to 0")],
    [{ maxUnavailable: "101%" },                       refused('maxUnavailable: Invalid value: "101%": must not be greater than 100%')],
    [{ minAvailable: "abc" },                          refused(`minAvailable: Invalid value: "abc": ${PERCENT}`)],
    [{ minAvailable: "5" },                            refused(`minAvailable: Invalid value: "5": ${PERCENT}`)],
    [{ minAvailable: "-5%" },                          refused(`minAvailable: Invalid value: "-5%": ${PERCENT}`)],
    [{ minAvailable: true },                           { code: 400, message: /cannot unmarshal bool into Go struct field PodDisruptionBudgetSpec\.spec\.minAvailable of type int32$/ }],
    [{ minAvailable: 1.5 },                            { code: 400 }],
    [{ maxUnavailable: {} },                           { code: 400 }],
    [{ unhealthyPodEvictionPolicy: "AlwaysAllow" },    { code: 201 }],
    [{ unhealthyPodEvictionPolicy: "Never" },          refused('unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"')],
  ] as const;
  for (const [spec, answer] of rows) asks(JSON.stringify(spec), post(`${BUDGETS}?dryRun=All`, budget(spec)), answer);
});

contract("a budget's selector", ({ asks }) => {
  const at = "selector.matchExpressions[0]";
  // prettier-ignore
  const rows = [
    // spec                                                            answer
    [{ selector: {} },                                                 { code: 201 }],
    [selecting({ key: "a", operator: "Exists" }),                      { code: 201 }],
    [selecting({ key: "a", operator: "In", values: ["b"] }),           { code: 201 }],
    [selecting({ key: "a", operator: "In" }),                          refused(`${at}.values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`)],
    [selecting({ key: "a", operator: "Exists", values: ["b"] }),       refused(`${at}.values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`)],
    [selecting({ key: "a", operator: "Is" }),                          refused(`${at}.operator: Invalid value: "Is": not a valid selector operator`)],
    [selecting({ key: "a b", operator: "Exists" }),                    { code: 422, "details.causes.0.field": `spec.${at}.key` }],
    [selecting({ key: "a", operator: "In", values: ["-"] }),           { code: 422, "details.causes.0.field": `spec.${at}.values[0]` }],
    [{ minAvailable: 1, selector: { matchLabels: { a: "b c" } } },     { code: 422, "details.causes.0.field": "spec.selector.matchLabels" }],
  ] as const;
  for (const [spec, answer] of rows) asks(JSON.stringify(spec), post(`${BUDGETS}?dryRun=All`, budget(spec)), answer);
});

contract("changes of a budget", ({ asks, given }) => {
  given("a budget", post(BUDGETS, budget({ minAvailable: 1, selector: { matchLabels: { app: "a" } } })));
  const selector = { matchLabels: { tier: "b" } };
  asks("a strategic patch replaces the selector", patch(`${BUDGETS}/x`, "strategic", { spec: { selector } }), {
    code: 200,
    "spec.selector": selector,
  });
  asks(
    "a merge patch adds to it",
    patch(`${BUDGETS}/x`, "merge", { spec: { selector: { matchLabels: { app: "a" } } } }),
    {
      code: 200,
      "spec.selector": { matchLabels: { app: "a", tier: "b" } },
    },
  );
  asks("a limit is checked then, too", patch(`${BUDGETS}/x`, "merge", { spec: { minAvailable: "200%" } }), {
    code: 422,
  });
  asks(
    "and so are the counts in its status",
    patch(`${BUDGETS}/x/status`, "merge", { status: { disruptionsAllowed: -1 } }),
    {
      code: 422,
      message: /status\.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0/,
    },
  );
});
