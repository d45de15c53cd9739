import {
  isRefusal,
  type Cause as WorldCause,
  type ClusterUid,
  type ConnectionName,
  type Refusal,
} from '@fairlead/contracts';
import { sshServerId } from '@fairlead/domain';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { retryOnConflict } from '../append.conflict.js';
import {
  choose,
  chooseAddress,
  holdingsOf,
  stock,
  stockStream,
  type StockCommand,
  type Stocked,
} from './stock.decider.js';
import type {
  AcceptedHost,
  Booking,
  Candidates,
  Claim,
  DesiredBooking,
  GivenBack,
  Holding,
  SeenHostKey,
  Stock,
  StockView,
  DesiredHost,
} from './stock.ports.js';

/** The inventory state in the log. One stream per connection makes it safe between replicas. */
@Injectable()
export class StockLog implements Stock {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  async look(connection: ConnectionName): Promise<StockView> {
    const { held, withheld, bookings } = await this.state(connection);
    return { held: [...held.values()], withheld: [...withheld.values()], bookings: [...bookings.values()] };
  }

  async refusal(claim: Claim, desired: readonly DesiredHost[], candidates: Candidates): Promise<Refusal | undefined> {
    const chosen = choose(await this.state(claim.connection), { claim, desired, candidates });
    return isRefusal(chosen) ? chosen : undefined;
  }

  async take(
    claim: Claim,
    desired: readonly DesiredHost[],
    candidates: Candidates,
  ): Promise<readonly Holding[] | Refusal> {
    const state = await this.decide(claim, { type: 'TakeHosts', data: { claim, desired, candidates } });
    if (isRefusal(state)) return state;
    const machines = new Set<string>(desired.map(({ machine }) => machine));
    return holdingsOf(state, claim.uid).filter(({ machine }) => machines.has(machine));
  }

  async book(claim: Claim, desired: DesiredBooking, candidates: Candidates): Promise<Booking | Refusal> {
    const state = await this.decide(claim, { type: 'BookHosts', data: { claim, desired, candidates } });
    if (isRefusal(state)) return state;
    const booking = state.bookings.get(claim.uid);
    if (booking === undefined) throw new Error(`no hosts are booked for ${claim.uid}`);
    return booking;
  }

  async release(connection: ConnectionName, uid: ClusterUid): Promise<void> {
    await this.record({ connection, uid }, { type: 'ReleaseBooking', data: { connection, uid } });
  }

  async giveBack(host: GivenBack): Promise<void> {
    await this.record(host, { type: 'ReturnHost', data: host });
  }

  async withhold(host: GivenBack, cause: WorldCause): Promise<void> {
    await this.record(host, { type: 'WithholdHost', data: { ...host, cause } });
  }

  async readmit(connection: ConnectionName, host: string): Promise<void> {
    await this.record({ connection, uid: connection }, { type: 'ReadmitHost', data: { connection, host } });
  }

  async accept(host: AcceptedHost): Promise<void> {
    const { connection } = host;
    await this.record({ connection, uid: connection }, { type: 'AcceptHost', data: host });
  }

  async pin(seen: SeenHostKey): Promise<string> {
    const { connection } = seen;
    const { pinned } = await this.record({ connection, uid: connection }, { type: 'PinHostKey', data: seen });
    return pinned.get(sshServerId(seen)) ?? seen.hostKey;
  }

  async takeAddress(claim: Claim, addresses: readonly string[]): Promise<string | Refusal> {
    const state = await this.decide(claim, { type: 'TakeAddress', data: { claim, addresses } });
    return isRefusal(state) ? state : chooseAddress(state, claim, addresses);
  }

  async addressRefusal(claim: Claim, addresses: readonly string[]): Promise<Refusal | undefined> {
    const chosen = chooseAddress(await this.state(claim.connection), claim, addresses);
    return isRefusal(chosen) ? chosen : undefined;
  }

  async freeAddresses(claim: Claim, addresses: readonly string[]): Promise<readonly string[]> {
    const { addresses: taken } = await this.state(claim.connection);
    if ([...taken.values()].includes(claim.uid)) return [];
    return addresses.filter((address) => !taken.has(address));
  }

  async returnAddress(claim: Claim): Promise<void> {
    await this.record(claim, { type: 'ReturnAddress', data: claim });
  }

  async close(claim: Claim): Promise<void> {
    await this.record(claim, { type: 'CloseStock', data: claim });
  }

  private state(connection: ConnectionName): Promise<Stocked> {
    return this.record({ connection, uid: connection }, { type: 'LookAtStock', data: null });
  }

  private async record(of: { connection: ConnectionName; uid: string }, command: StockCommand): Promise<Stocked> {
    const { connection, uid } = of;
    const cause = { actor: 'system/infra-svc', correlationId: uid, causationId: uid };
    return retryOnConflict(await this.handle(stock, stockStream(connection), command, cause), `stock of ${connection}`)
      .state;
  }

  /** Like record, for commands that may be refused. */
  private async decide(claim: Claim, command: StockCommand): Promise<Stocked | Refusal> {
    const { connection, uid } = claim;
    const cause = { actor: 'system/infra-svc', correlationId: uid, causationId: uid };
    const decided = await this.handle(stock, stockStream(connection), command, cause);
    if (!isRefusal(decided)) return decided.state;
    return decided.code === 'conflict.concurrent'
      ? retryOnConflict<Stocked>(decided, `stock of ${connection}`).state
      : decided;
  }
}
