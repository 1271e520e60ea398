/** What a Prometheus has scraped: the real expositions, each with its time and the labels of its target. */
import parse from "parse-prometheus-text-format";

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

interface Scrape {
  readonly target: string;
  readonly at: number;
  readonly samples: readonly Sample[];
}

type IsSelected = (sample: Sample) => boolean;

/** A series that has not been scraped for so long has no value. */
const LOOK_BACK_SECONDS = 300;

export class Recording {
  readonly #scrapes: Scrape[] = [];

  /** Scrapes are added in the order of time. `text`: undefined if the target did not answer 200. */
  add(target: Labels, at: number, text: string | undefined): void {
    const samples = parse(text ?? "").flatMap(({ name, metrics }) =>
      metrics.map(({ labels = {}, value }) => ({ name, labels: { ...labels, ...target }, value: Number(value) })),
    );
    const up = { name: "up", labels: target, value: text === undefined ? 0 : 1 };
    this.#scrapes.push({ target: JSON.stringify(target), at, samples: [up, ...samples] });
  }

  /** Of the last scrape of each target: what that did not have any more is stale. */
  instant(isSelected: IsSelected, at: number): readonly Sample[] {
    const recent = this.#between(at - LOOK_BACK_SECONDS, at);
    const last = new Map(recent.map((scrape) => [scrape.target, scrape]));
    return [...last.values()].flatMap(({ samples }) => samples.filter(isSelected));
  }

  range(isSelected: IsSelected, from: number, to: number) {
    const samples = this.#between(from, to).flatMap((scrape) => scrape.samples.filter(isSelected));
    const series = Map.groupBy(samples, ({ labels }) => JSON.stringify(labels));
    return [...series.values()].map((group) => {
      return { labels: group[0]?.labels ?? {}, values: group.map(({ value }) => value) };
    });
  }

  #between(from: number, to: number): readonly Scrape[] {
    return this.#scrapes.filter(({ at }) => at > from && at <= to);
  }
}
