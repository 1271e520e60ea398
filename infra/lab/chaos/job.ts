/** A process that performs one run after another, and reports the result of each run. */
import * as z from "zod/mini";
import { isFault } from "./fault-names.ts";
import { FORMS } from "./forms/form.ts";
import { createRunner } from "./runner.ts";

// Uses `strictObject`, because `z.object` silently ignores unknown options.
const Order = z.strictObject({
  seed: z.string(),
  run: z.number(),
  vms: z.exactOptional(z.number()),
  form: z.exactOptional(z.enum(FORMS)),
  real: z.exactOptional(z.boolean()),
  only: z.exactOptional(z.array(z.string())),
});

const runner = createRunner();

process.on("message", (message: unknown) => {
  const { only, ...order } = Order.parse(message);
  void runner
    .perform({ ...order, ...(only !== undefined && { only: only.filter(isFault) }) })
    .then((report) => process.send?.(report));
});
process.on("disconnect", () => void runner.stop().finally(() => process.exit()));
