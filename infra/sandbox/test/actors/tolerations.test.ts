/** Tests which taints a pod tolerates. Upstream: `ToleratesTaint` of Kubernetes' `core/v1`. */
import { expect, test } from "vitest";
import { tolerates } from "../../actors/node-fit.ts";

// prettier-ignore
test.each([
  // taint  operator   toleration  is tolerated
  ["950",   undefined, "950",      true ],
  ["950",   "Equal",   "750",      false],
  ["950",   "Exists",  undefined,  true ],
  ["950",   "Gt",      "750",      true ],
  ["800",   "Gt",      "950",      false],
  ["-5",    "Lt",      "0",        true ],
  ["10",    "Lt",      "9",        false],
  ["gpu",   "Gt",      "1",        false],
])("is the taint tier=%s tolerated with operator %s and value %s? %s", (taint, operator, value, isTolerated) => {
  const toleration = { key: "tier", ...(operator !== undefined && { operator }), ...(value !== undefined && { value }) };
  expect(tolerates(toleration, { key: "tier", value: taint, effect: "NoExecute" })).toBe(isTolerated);
});
