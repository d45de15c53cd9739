import { refuse, type Refusal, type StoredEvent } from '@fairlead/contracts';
import type { Decided } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import { accept } from './answers.js';
import type { Exchange } from './caller.js';
import { LogFollower } from './log.follower.js';
import { RefusalError } from './refusal.error.js';

/** How far a command is when it is answered. */
export interface Outcome<State> {
  readonly decided: Decided<State>;
  /** Of the event that ended it, or of the command itself. */
  readonly seq: number;
  /** It ended while its caller waited. */
  readonly ended: boolean;
}

/** What a route answers a recorded command with. */
export interface CommandAnswer<State, View> {
  readonly address: ClusterAddress;
  /** Where what was asked for can be seen. */
  readonly location: string | ((decided: Decided<State>) => string);
  /** What ends it; absent: it is answered at once. */
  readonly isOver?: (event: StoredEvent) => boolean;
  /** Nothing is left to wait for. */
  readonly isOverAlready?: (decided: Decided<State>) => boolean;
  /** Status of an answer that was waited for. */
  readonly done?: 200 | 201;
  readonly view: (outcome: Outcome<State>) => View | Promise<View>;
}

/** The URL of the operation that a command requested. */
export const operationLocation =
  ({ namespace, cluster }: ClusterAddress) =>
  ({ events }: Decided<unknown>): string =>
    `/ns/${namespace}/clusters/${cluster}/operations${events[0] === undefined ? '' : `/${events[0].meta.id}`}`;

/** A view from the rows of this replica, or from the log while they are late. */
export interface Sources<View> {
  readonly rows: () => Promise<View | undefined>;
  readonly log: () => Promise<View | undefined>;
  readonly otherwise: Refusal;
}

/** Answers commands: with 202 at once, or, with `Prefer: wait`, when what was asked for has ended. */
@Injectable()
export class CommandAnswers {
  constructor(@Inject(LogFollower) private readonly follower: LogFollower) {}

  async respond<State, View>(
    { caller, response }: Pick<Exchange, 'caller' | 'response'>,
    command: Decided<State> | Promise<Decided<State>>,
    { address, location, done = 200, view, ...ends }: CommandAnswer<State, View>,
  ): Promise<View> {
    const decided = await command;
    const end = await this.endOf(decided, { ...ends, address }, caller);
    const { seq, ended } = end;
    accept(response, {
      seq,
      location: typeof location === 'string' ? location : location(decided),
      status: ended ? done : 202,
      waited: ended,
    });
    return view({ decided, seq, ended });
  }

  /** Until this replica shows what the log held at the sequence. */
  waitForProjection(seq: number, parameter?: string): Promise<void> {
    return this.follower.shown(seq, parameter);
  }

  /** Shows at least what the log held at the sequence. */
  async viewAt<View>(seq: number, { rows, log, otherwise }: Sources<View>): Promise<View> {
    const view = await this.follower.afterRecord(seq, rows, log);
    if (view === undefined) throw new RefusalError(otherwise);
    return view;
  }

  private async endOf<State>(
    decided: Decided<State>,
    ends: Pick<CommandAnswer<State, unknown>, 'address' | 'isOver' | 'isOverAlready'>,
    caller: Exchange['caller'],
  ): Promise<Pick<Outcome<State>, 'seq' | 'ended'>> {
    const { address, isOver, isOverAlready } = ends;
    if (isOver === undefined || caller.waitMs === 0) return { seq: decided.seq, ended: false };
    if (isOverAlready?.(decided) === true) return { seq: decided.seq, ended: true };
    const event = await this.follower.wait({ ...address, afterSeq: decided.seq, isOver }, caller);
    return { seq: event?.meta.seq ?? decided.seq, ended: event !== undefined };
  }
}

export const clusterUnknown = ({ namespace, cluster }: ClusterAddress): Refusal =>
  refuse('cluster.unknown', { namespace, cluster });
