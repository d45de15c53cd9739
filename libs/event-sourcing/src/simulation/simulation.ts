import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal, ExternalFailure } from '@fairlead/contracts';
import { FoldCache } from '../fold.cache.js';
import { makeHandle, type Handle } from '../handle.js';
import type { EventStore } from '../store.js';
import { Program, type ProgramOptions } from './program.js';
import type { Chances, Troubles } from './troubles.js';
import { Turns, type Life } from './turns.js';

const STEPS_MAX = 200_000;
/** How often the simulation yields to Node while only asynchronous work of Node is in progress. */
const SETTLES_MAX = 30_000;
/** After this many yields, real time passes. */
const IMMEDIATE_MAX = 1_000;
/** How often per run time advances because nothing else is left to do. */
const WAITS_MAX = 50;
/** A cache allocates all of its entries at once, and a simulation starts many replicas. */
const FOLDS_MAX = 20;

export interface Ways {
  before(what: string): Promise<void>;
  after(what: string): Promise<void>;
}

/** A call to the outside; `what` names it in the failures of lost calls. */
export type Passage = <Result>(what: string, work: () => Result) => Promise<Result>;

/**
 * Services over one log and one world, in a seeded order: their own deciders, reconcilers, projections and handlers.
 * Tasks run late, twice and in any order; requests and responses are lost; a replica dies at any call and is restarted.
 * A world extends this class: it starts the programs, and simulates everyone else.
 */
export abstract class Simulation implements Chances {
  troubles: Troubles;
  readonly trace: string[] = [];
  protected readonly turns = new Turns();
  private readonly running: Program[] = [];
  private broken: Error | undefined;
  private waits = 0;

  constructor(
    private readonly random: () => number,
    troubles: Troubles,
  ) {
    this.troubles = troubles;
  }

  chance(probability: number): boolean {
    return probability > 0 && this.random() < probability;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  /** Runs up to this many steps, or until nothing is left to do. */
  async run(stepsMax = STEPS_MAX): Promise<void> {
    for (let step = 0; step < stepsMax; step += 1) {
      const went = this.step() || (await this.settled()) || this.passTime();
      if (this.broken !== undefined) throw this.broken;
      if (!went) return;
      await turnOfNode();
    }
    if (stepsMax === STEPS_MAX) throw new Error('it never ends');
  }

  /** In the next run, time advances whenever nothing else is left to do. */
  fireTimers(): void {
    this.waits = WAITS_MAX;
  }

  /** The possible next actions of simulated parties. */
  protected actors(): readonly (() => unknown)[] {
    return [];
  }

  /** Called before each step. */
  protected beforeStep(): void {}

  protected fail(error: unknown): void {
    this.broken ??= error instanceof Error ? error : new Error(String(error));
  }

  protected start(options: Omit<ProgramOptions, 'simulation' | 'turns' | 'broken'>): Program {
    const program = new Program({
      ...options,
      simulation: this,
      turns: this.turns,
      broken: (error) => this.fail(error),
    });
    this.running.push(program);
    return program;
  }

  /** The decisions of a replica: they wait for their turn like everything else, and a dead replica decides nothing. */
  protected decisions(life: Life, log: EventStore): Handle {
    const handle = makeHandle(log, new FoldCache(FOLDS_MAX));
    return async (decider, stream, command, cause) => {
      await life.turn();
      const outcome = await handle(decider, stream, command, cause);
      if (isRefusal(outcome)) this.trace.push(`refused ${command.type}: ${outcome.message}`);
      else outcome.events.forEach(({ type }) => this.trace.push(`said ${type}`));
      await life.turn();
      return outcome;
    };
  }

  /** Request and response of a call to the outside. */
  protected waysOf(life: Life): Ways {
    const way = (name: string, trouble: 'lostRequest' | 'lostAnswer') => async (what: string) => {
      await life.turn();
      if (this.chance(this.troubles[trouble])) throw lost(what, name);
    };
    return { before: way('request', 'lostRequest'), after: way('answer', 'lostAnswer') };
  }

  protected passage(life: Life): Passage {
    const { before, after } = this.waysOf(life);
    return async (what, work) => {
      await before(what);
      const done = work();
      await after(what);
      return done;
    };
  }

  private step(): boolean {
    // Before anyone gets a turn, because the one that has it finishes its current write.
    for (const program of this.running) if (program.isWorking && this.chance(this.troubles.crash)) program.kill();
    const actors = this.actors();
    const choices = [...this.running.flatMap((program) => program.choices()), ...actors];
    const count = choices.length + this.turns.count;
    if (count === 0) return false;
    this.beforeStep();
    const chosen = this.below(count);
    if (chosen < choices.length) this.act(choices[chosen]);
    else this.turns.letGo(chosen - choices.length);
    return true;
  }

  private act(act: (() => unknown) | undefined): void {
    void Promise.resolve(act?.()).catch((error: unknown) => this.fail(error));
  }

  /**
   * Waits while no replica needs a turn but Node has work in progress, such as generating a key. False: nothing is in
   * progress.
   */
  private async settled(): Promise<boolean> {
    if (!this.isBusy()) return false;
    for (let settles = 0; settles < SETTLES_MAX; settles += 1) {
      await (settles < IMMEDIATE_MAX ? turnOfNode() : sleep(1));
      if (this.broken !== undefined || !this.isBusy() || this.turns.count > 0) return true;
    }
    throw new Error('a replica runs and never waits for a turn');
  }

  protected isBusy(): boolean {
    return this.running.some((program) => program.isBusy);
  }

  private passTime(): boolean {
    if (this.waits === 0) return false;
    this.waits -= 1;
    const woken = this.running.map((program) => program.wake());
    if (woken.some(Boolean)) return true;
    this.waits = 0;
    return false;
  }
}

const lost = (what: string, way: string): ExternalFailure =>
  new ExternalFailure({ operation: what, target: 'the world', message: `the ${way} was lost` });

const turnOfNode = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
