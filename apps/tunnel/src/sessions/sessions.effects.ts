import { HELD_NAME_BEAT_MS, isDnsName, wordsOf, type NameReservation, type NameSignIn } from '@fairlead/contracts';
import type { Duplex } from 'node:stream';
import type { Names, Origin, Peers, Session } from '../routes/names.ports.js';
import { heldSince, routesOf, withoutRoute, withoutSession, withRoute, type Routes } from '../routes/routes.state.js';

/** A session whose wire is cut costs the time of one attempt. */
const ATTEMPTS_MAX = 3;

export interface SessionsParts {
  readonly names: Names;
  readonly peers: Peers;
  /** Of this process. */
  readonly replica: string;
  /** Where other replicas reach what is held here; undefined: there are none. */
  readonly peer: string | undefined;
  readonly now: () => Date;
  readonly say: (level: 'log' | 'warn', message: string) => void;
  readonly beatMs?: number;
}

/** The sessions that hold names in this process. Each beat renews their entries, which expire if the process dies. */
export class Sessions {
  private routes: Routes<Session> = new Map();
  private readonly keys = new Map<Session, string>();
  /** Of services that are held here, as of the last beat. */
  private readonly signIns = new Map<string, NameSignIn>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: SessionsParts) {}

  get names(): number {
    return this.routes.size;
  }

  /** Whether the key may hold the name. */
  async isReserved(name: string, publicKey: string): Promise<boolean> {
    if (!isDnsName(name)) return false;
    return (await this.parts.names.reservation(name))?.publicKey === publicKey;
  }

  /** How users sign in at a service that is held here; undefined: it is no service, or it is not held here. */
  signInOf(name: string): NameSignIn | undefined {
    return this.routes.has(name) ? this.signIns.get(name) : undefined;
  }

  /** False: it is not reserved for that key. */
  async hold(session: Session, name: string, publicKey: string): Promise<boolean> {
    if (!isDnsName(name)) return false;
    const reservation = await this.parts.names.reservation(name);
    if (reservation?.publicKey !== publicKey) return false;
    // Before it has a route: no request reaches a service without a sign-in.
    this.knows(name, reservation);
    this.keys.set(session, publicKey);
    this.routes = withRoute(this.routes, name, { session, since: this.parts.now().toISOString() });
    this.parts.say('log', `${name} is held`);
    // If NATS fails now, the next beat writes it.
    await this.beat(name).catch((error: unknown) => this.parts.say('warn', `${name}: ${wordsOf(error)}`));
    return true;
  }

  release(session: Session, name: string): void {
    this.routes = withoutRoute(this.routes, name, session);
  }

  ended(session: Session): void {
    this.keys.delete(session);
    const before = [...this.routes.keys()];
    this.routes = withoutSession(this.routes, session);
    for (const name of before) if (!this.routes.has(name)) this.parts.say('log', `${name} is no longer held`);
  }

  start(): void {
    this.timer = setInterval(() => void this.beatAll(), this.parts.beatMs ?? HELD_NAME_BEAT_MS);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** A connection to whoever holds the name here; undefined: it is not held here. Of several, the newest that answers. */
  async openHere(name: string, origin: Origin): Promise<Duplex | undefined> {
    for (const { session } of routesOf(this.routes, name).slice(0, ATTEMPTS_MAX)) {
      try {
        return await session.open(name, origin);
      } catch (error) {
        this.parts.say('warn', `${name}: ${wordsOf(error)}`);
      }
    }
    return undefined;
  }

  /** The same, or by another replica that holds it. */
  async open(name: string, origin: Origin): Promise<Duplex | undefined> {
    const here = await this.openHere(name, origin);
    if (here !== undefined) return here;
    const { names, peers, replica } = this.parts;
    const held = await names.holder(name);
    if (held?.peer === undefined || held.replica === replica) return undefined;
    return peers.connect(held.peer);
  }

  private async beatAll(): Promise<void> {
    this.forget();
    for (const name of [...this.routes.keys()]) {
      try {
        await this.expel(name);
        await this.beat(name);
      } catch (error) {
        this.parts.say('warn', `${name}: ${wordsOf(error)}`);
      }
    }
  }

  /** A name that was a service stays one while it is held. */
  private knows(name: string, { signIn }: NameReservation): void {
    if (signIn !== undefined) this.signIns.set(name, signIn);
  }

  private forget(): void {
    for (const name of this.signIns.keys()) if (!this.routes.has(name)) this.signIns.delete(name);
  }

  /** Ends sessions whose key no longer has the reservation, because the cluster was deleted. */
  private async expel(name: string): Promise<void> {
    const reservation = await this.parts.names.reservation(name);
    const publicKey = reservation?.publicKey;
    if (reservation !== undefined) this.knows(name, reservation);
    for (const { session } of routesOf(this.routes, name)) {
      if (this.keys.get(session) === publicKey) continue;
      this.release(session, name);
      session.end(`${name} is no longer reserved for its key`);
    }
  }

  private async beat(name: string): Promise<void> {
    const since = heldSince(this.routes, name);
    if (since === undefined) return;
    const { names, replica, peer } = this.parts;
    const sessions = routesOf(this.routes, name).length;
    await names.hold(name, { replica, ...(peer === undefined ? {} : { peer }), sessions, since });
  }
}
