/** The policy of the benchmark is one that Lifeboat takes, and names what the benchmark expects of it. */
import { expect, test } from "vitest";
import { EXPECTED, POLICY, REQUESTED } from "../../infra/bench/descheduling-policy.ts";
import { parseDeschedulerPolicy } from "../../shared/descheduling/policy-file.ts";

test("it is valid, with the limit that the figures are for", async () => {
  const parsed = await parseDeschedulerPolicy(POLICY);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  expect(parsed.value.limits).toMatchObject({ evictionsTotal: REQUESTED });
  const plugins = parsed.value.profiles.flatMap((profile) => profile.plugins.map(({ name }) => name));
  expect(plugins).toEqual(["PodLifeTime", "LowNodeUtilization"]);
});

test("both of its plugins get some of what is requested", () => {
  expect(EXPECTED.Evicted).toBeGreaterThan(0);
  expect(EXPECTED.Background).toBeGreaterThan(0);
  expect(EXPECTED.Evicted + EXPECTED.Background).toBe(REQUESTED);
});
