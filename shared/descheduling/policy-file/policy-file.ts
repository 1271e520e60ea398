/** The keys of a `DeschedulerPolicy` file, `descheduler/v1alpha2`, and those that KEP-1397 adds. */
import * as z from "zod/mini";
import { Count, Duration, emptyList, flag, listOf, mapping, SelectorText, text, unsupported } from "./fields.ts";

const DISABLED = "not supported, as the descheduler never reads it: expected the plugin to be left out of enabled";
const NO_POINT = "not supported, as the descheduler never reads it: expected no plugins here";

const Names = z.lazy(() => listOf(text("expected the name of a plugin")));
const disabled = z.lazy(() => emptyList(DISABLED));
const PluginSet = z.lazy(() => z.prefault(mapping({ enabled: Names, disabled }), {}));
const NoPlugins = z.lazy(() => z.prefault(mapping({ enabled: emptyList(NO_POINT), disabled }), {}));

const Plugins = z.lazy(() =>
  mapping({
    presort: NoPlugins,
    sort: NoPlugins,
    deschedule: PluginSet,
    balance: PluginSet,
    filter: PluginSet,
    preevictionfilter: PluginSet,
    preEvictionFilter: unsupported("expected preevictionfilter: written like this, the descheduler ignores it"),
  }),
);

const Profile = z.lazy(() =>
  mapping({
    name: text("expected the name of the profile"),
    pluginConfig: listOf(mapping({ name: text("expected the name of a plugin"), args: z._default(z.unknown(), {}) })),
    plugins: z.prefault(Plugins, {}),
  }),
);

export type ProfileFile = z.output<typeof Profile>;

const PREFIX = "expected the beginning of a message";
const METRICS = "not supported by Lifeboat, which goes by what pods request";
const MORE_THAN_NOTHING = "expected more than 0";

export const PolicyFile = z.lazy(() =>
  mapping({
    apiVersion: z.literal("descheduler/v1alpha2", "expected descheduler/v1alpha2"),
    kind: z.literal("DeschedulerPolicy", "expected DeschedulerPolicy"),
    nodeSelector: z.exactOptional(SelectorText),
    maxNoOfPodsToEvictPerNode: z.exactOptional(Count),
    maxNoOfPodsToEvictPerNamespace: z.exactOptional(Count),
    maxNoOfPodsToEvictTotal: z.exactOptional(Count),
    maxNoOfPodsEvacuationsPerNode: z.exactOptional(Count),
    maxNoOfPodsEvacuationsPerNamespace: z.exactOptional(Count),
    maxEvacuationRequestTTL: z._default(Duration, 600).check(z.positive(MORE_THAN_NOTHING)),
    evictionMessagePrefixes: z._default(
      z.array(text(PREFIX), "expected a list").check(z.minLength(1, "expected at least one")),
      ["Eviction triggered"],
    ),
    evictionFailureEventNotification: flag(false),
    gracePeriodSeconds: z.exactOptional(Count),
    metricsCollector: z.exactOptional(mapping({ enabled: z._default(z.literal(false, METRICS), false) })),
    metricsProviders: emptyList(METRICS),
    profiles: listOf(Profile),
  }),
);

export type PolicyFile = z.output<typeof PolicyFile>;
