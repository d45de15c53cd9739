import { AGENT_PATHS, AgentConfig, wordsOf } from '@fairlead/contracts';
import type { CommandRunner } from '../programs/run.command.js';
import type { MemoryFiles } from '../files/memory.files.js';
import type { Host } from '../hosts/host.js';
import type { UnitEnd, UnitProcess, UnitProgram, UnitRunner } from '../services/unit.runner.js';
import type { AgentPrograms } from './agent.programs.js';
import { lightAgentHost } from './light.agent.host.js';
import type { LightSegment } from './light.segment.js';

const JOURNAL_LINES_MAX = 50;
const NO_PROGRAM: UnitEnd = { success: false, words: 'a light host runs no program but the agent (Fairlead lab)' };

export interface LightUnitsParts {
  readonly files: MemoryFiles;
  readonly programs: AgentPrograms;
  readonly runner: CommandRunner;
  readonly host: () => Host;
  readonly segment: LightSegment;
}

/** Units of a light host: the agent runs inside the lab's process; other units have no process. */
export class LightUnits implements UnitRunner {
  private readonly lines = new Map<string, string[]>();
  private readonly counts = new Map<string, number>();

  constructor(private readonly parts: LightUnitsParts) {}

  start(program: UnitProgram): UnitProcess {
    if (!program.argv.includes(AGENT_PATHS.program)) return new EndedUnit(NO_PROGRAM);
    return new AgentUnit(this.parts, (line) => this.note(program.unit, line));
  }

  async journal(unit: string, linesMax: number): Promise<readonly string[]> {
    return (this.lines.get(unit) ?? []).slice(-linesMax);
  }

  async written(unit: string): Promise<number> {
    return this.counts.get(unit) ?? 0;
  }

  note(unit: string, line: string): void {
    this.counts.set(unit, (this.counts.get(unit) ?? 0) + 1);
    const lines = [...(this.lines.get(unit) ?? []), line];
    this.lines.set(unit, lines.slice(-JOURNAL_LINES_MAX));
  }
}

class EndedUnit implements UnitProcess {
  readonly pid = 0;
  readonly ended: Promise<UnitEnd>;

  constructor(end: UnitEnd) {
    this.ended = Promise.resolve(end);
  }

  async stop(): Promise<void> {
    await this.ended;
  }

  async kill(): Promise<void> {
    await this.ended;
  }
}

/** The agent of one host, running in this process. */
class AgentUnit implements UnitProcess {
  readonly pid = process.pid;
  readonly ended: Promise<UnitEnd>;
  private readonly gone = new AbortController();
  private end: (end: UnitEnd) => void = () => undefined;
  private readonly stopped: Promise<void>;

  constructor(
    private readonly parts: LightUnitsParts,
    private readonly note: (line: string) => void,
  ) {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
    this.stopped = this.run();
  }

  async stop(): Promise<void> {
    this.gone.abort();
    await this.stopped;
  }

  /** The agent's connections close asynchronously; nothing waits for that. */
  async kill(): Promise<void> {
    this.gone.abort();
  }

  private async run(): Promise<void> {
    const { files, programs, runner, host, segment } = this.parts;
    try {
      const program = files.readBytes(AGENT_PATHS.program);
      if (program === undefined) throw new Error(`there is no ${AGENT_PATHS.program}`);
      const startAgent = await programs.load(program);
      const config = AgentConfig.parse(JSON.parse((await files.readText(AGENT_PATHS.config)) ?? 'null'));
      const agent = await startAgent({
        config,
        host: lightAgentHost(host(), runner, this.gone.signal),
        addressLooks: segment.looksOf(host()),
        credentials: (await files.readText(AGENT_PATHS.credentials)) ?? '',
        log: (level, message, fields) => this.log(level, message, fields),
      });
      await aborted(this.gone.signal);
      await agent.stop();
      this.end({ success: true, words: 'exit code 0' });
    } catch (error) {
      this.end({ success: this.gone.signal.aborted, words: wordsOf(error) });
    }
  }

  private log(level: string, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (level !== 'debug') this.note(`${level}: ${message} ${JSON.stringify(fields)}`);
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
