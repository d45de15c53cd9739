import { partitionOf, type StoredEvent } from '@fairlead/contracts';
import { OnEvent } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { WatchedNodes } from './watched.nodes.js';

/** Notifies the listener after the rows of watched nodes have changed. */
@Controller()
export class HealthEvents {
  constructor(@Inject(WatchedNodes) private readonly nodes: WatchedNodes) {}

  @OnEvent('AgentStarted')
  async agentStarted(event: StoredEvent<'AgentStarted'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeInitialized')
  async nodeInitialized(event: StoredEvent<'NodeInitialized'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeReady')
  async nodeReady(event: StoredEvent<'NodeReady'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeNotReady')
  async nodeNotReady(event: StoredEvent<'NodeNotReady'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeMissing')
  async nodeMissing(event: StoredEvent<'NodeMissing'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeReturned')
  async nodeReturned(event: StoredEvent<'NodeReturned'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeReadinessContradicted')
  async nodeReadinessContradicted(event: StoredEvent<'NodeReadinessContradicted'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeReadinessConfirmed')
  async nodeReadinessConfirmed(event: StoredEvent<'NodeReadinessConfirmed'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeLost')
  async nodeLost(event: StoredEvent<'NodeLost'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeRecovered')
  async nodeRecovered(event: StoredEvent<'NodeRecovered'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('NodeRemoved')
  async nodeRemoved(event: StoredEvent<'NodeRemoved'>): Promise<void> {
    this.changed(event);
  }

  @OnEvent('VmDeleted')
  async vmDeleted(event: StoredEvent<'VmDeleted'>): Promise<void> {
    this.changed(event);
  }

  private changed({ meta }: StoredEvent): void {
    this.nodes.rowsChanged(partitionOf(meta.namespace, meta.cluster));
  }
}
