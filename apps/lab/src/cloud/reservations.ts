import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Faults } from '../faults/faults.js';
import type { DocumentStore } from '../persistence/document.store.js';
import type { Stats } from '../stats/stats.js';
import { specNamed, type MachineSpec } from './catalogue.js';
import { CloudFault, notFound } from './cloud.fault.js';

const RESERVATIONS = 'reservations';
const SIZES_MAX = 20;
const COUNT_MAX = 20_000;
const SUFFIX_LENGTH = 8;

const ReservedMachines = z.strictObject({ spec: z.string().max(100), count: z.int().min(1).max(COUNT_MAX) });

export const ReservationRequest = z.strictObject({
  /** null: immediately. */
  startsAt: z.iso.datetime().nullable(),
  endsAt: z.iso.datetime(),
  machines: z.array(ReservedMachines).min(1).max(SIZES_MAX),
});
export type ReservationRequest = z.infer<typeof ReservationRequest>;

const StoredReservation = z.object({
  name: z.string(),
  startsAt: z.string(),
  endsAt: z.string(),
  /** Empty if it was released before it was created. */
  machines: z.array(ReservedMachines),
  /** The name of a released reservation is never reused. */
  released: z.boolean(),
});
type StoredReservation = z.infer<typeof StoredReservation>;

export interface ReservationsWorld {
  readonly store: DocumentStore;
  readonly stats: Stats;
  readonly faults: Faults;
  /** How many machines may be reserved at the same time. */
  readonly reservableMax: number;
  now(): Date;
}

const RESERVED = new RegExp(`^(.+)\\.r-([0-9a-f]{${SUFFIX_LENGTH}})$`);

const suffixOf = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, SUFFIX_LENGTH);

/** The real size behind the private size of a reservation; other sizes are returned unchanged. */
export const sizeBehind = (spec: string): MachineSpec | undefined => specNamed(RESERVED.exec(spec)?.[1] ?? spec);

const countOf = ({ machines }: Pick<StoredReservation, 'machines'>): number =>
  machines.reduce((sum, { count }) => sum + count, 0);

const overlaps = (one: StoredReservation, other: StoredReservation): boolean =>
  one.startsAt < other.endsAt && other.startsAt < one.endsAt;

/** Machines reserved for a period. The owner of a reservation requests its machines by private sizes. */
export class Reservations {
  private readonly items = new Map<string, StoredReservation>();

  constructor(private readonly world: ReservationsWorld) {}

  async load(): Promise<void> {
    for (const document of await this.world.store.readAll(RESERVATIONS)) {
      const stored = StoredReservation.parse(document);
      this.items.set(stored.name, stored);
    }
  }

  /** Creates a reservation, or changes when it ends. */
  put(name: string, { startsAt, endsAt, machines }: ReservationRequest) {
    const { faults, stats } = this.world;
    const existing = this.items.get(name);
    if (existing?.released === true) throw new CloudFault(409, 'released', `reservation ${name} was released`);
    if (existing?.endsAt === endsAt) return this.view(existing);
    const from = existing?.startsAt ?? startsAt ?? this.now();
    const wanted = { name, startsAt: from, endsAt, machines: existing?.machines ?? machines, released: false };
    const fault = faults.strike('reservation-denied', name);
    if (fault !== undefined) throw denied(fault.message ?? 'the capacity is not there (fault of the lab)');
    this.check(wanted);
    if (existing === undefined) stats.wasCreated('reservation', name);
    this.save(wanted);
    return this.view(wanted);
  }

  get(name: string) {
    const found = this.items.get(name);
    if (found === undefined || found.released) throw notFound(`reservation ${name}`);
    return this.view(found);
  }

  list() {
    return [...this.items.values()].filter(({ released }) => !released).map((one) => this.view(one));
  }

  /** Also records a reservation that does not exist as released, so that a delayed request cannot create it. */
  release(name: string): void {
    const { startsAt = '', endsAt = '', machines = [] } = this.items.get(name) ?? {};
    this.save({ name, startsAt, endsAt, machines, released: true });
  }

  /** Returns why no machine of this size can be created now, or undefined if it can. */
  faultOf(spec: string): CloudFault | undefined {
    const suffix = RESERVED.exec(spec)?.[2];
    if (suffix === undefined) return undefined;
    const found = [...this.items.values()].find(({ name, released }) => !released && suffixOf(name) === suffix);
    if (found === undefined) return new CloudFault(422, 'reservation-unknown', `there is no reservation for ${spec}`);
    return this.statusOf(found) === 'active'
      ? undefined
      : new CloudFault(422, 'reservation-inactive', `the reservation for ${spec} is ${this.statusOf(found)}`);
  }

  private check(wanted: StoredReservation): void {
    const { reservableMax } = this.world;
    for (const { spec } of wanted.machines)
      if (specNamed(spec) === undefined) throw new CloudFault(422, 'spec-unknown', `there is no spec ${spec}`);
    if (wanted.endsAt <= wanted.startsAt || wanted.endsAt <= this.now())
      throw denied(`a reservation cannot end at ${wanted.endsAt}`);
    const others = [...this.items.values()].filter(
      (other) => !other.released && other.name !== wanted.name && overlaps(other, wanted),
    );
    // The peak usage is always at the start of one of the reservations.
    const starts = [wanted, ...others].map(({ startsAt }) => (startsAt > wanted.startsAt ? startsAt : wanted.startsAt));
    const taken = starts.map((at) =>
      others.reduce((sum, other) => (other.startsAt <= at && at < other.endsAt ? sum + countOf(other) : sum), 0),
    );
    const free = reservableMax - Math.max(...taken);
    if (countOf(wanted) > free)
      throw denied(
        `not enough capacity from ${wanted.startsAt} until ${wanted.endsAt}: ${countOf(wanted)} machines are asked for, and ${free} are free`,
      );
  }

  private statusOf({ startsAt, endsAt }: StoredReservation): 'pending' | 'active' | 'ended' {
    const now = this.now();
    if (now < startsAt) return 'pending';
    return now < endsAt ? 'active' : 'ended';
  }

  private view(stored: StoredReservation) {
    const { name, startsAt, endsAt, machines } = stored;
    const suffix = suffixOf(name);
    const sizes = Object.fromEntries(machines.map(({ spec }) => [spec, `${spec}.r-${suffix}`]));
    return { name, status: this.statusOf(stored), startsAt, endsAt, machines, sizes };
  }

  private save(stored: StoredReservation): void {
    this.items.set(stored.name, stored);
    this.world.store.put(RESERVATIONS, stored.name, () => stored);
  }

  private now(): string {
    return this.world.now().toISOString();
  }
}

const denied = (message: string): CloudFault => new CloudFault(409, 'reservation-denied', message);
