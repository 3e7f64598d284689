package redisjournal

// scripts are the operations, one for each file in lua/.
type scripts struct {
	reserve, reserveKey, claim, renew, record, commit, release     *script
	spawn, children, completeCleanup, cleanups                     *script
	input, cancel, pause, resume, completeDelegation               *script
	takeBack, delete, markKey                                      *script
	transition, finish, appendEvent, beginInteraction              *script
	completeInteraction, attachDelegation                          *script
	delegate, refuseDelegation                                     *script
	sweep, requeue, postpone, expire, purge, purgeKey, recoverable *script
	get, events, read, ledger, list, inspect, audit, auditEntries  *script
	pushPut, pushDelete, pushMark, pushTake, pushKeep, pushDrop    *script
}

func loadScripts(constants []constant) scripts {
	load := func(name string) *script { return load(constants, name) }
	return scripts{
		reserve: load("reserve"), reserveKey: load("reserve_key"), claim: load("claim"), renew: load("renew"),
		record: load("record"), commit: load("commit"), release: load("release"), input: load("input"),
		cancel: load("cancel"), pause: load("pause"), resume: load("resume"),
		spawn: load("spawn"), children: load("children"), completeCleanup: load("complete_cleanup"), cleanups: load("cleanups"),
		delegate: load("delegate"), refuseDelegation: load("refuse_delegation"),
		takeBack: load("take_back"), delete: load("delete"), markKey: load("mark_key"),
		completeDelegation: load("complete_delegation_cleanup"), transition: load("transition"), finish: load("finish"),
		appendEvent: load("append_event"), beginInteraction: load("begin_interaction"),
		completeInteraction: load("complete_interaction"), attachDelegation: load("attach_delegation"),
		sweep: load("sweep"), requeue: load("requeue"), postpone: load("postpone"), expire: load("expire"),
		purge: load("purge"), purgeKey: load("purge_key"), recoverable: load("recoverable"), get: load("get"),
		events: load("events"), read: load("read"), ledger: load("ledger"), list: load("list"),
		inspect: load("inspect"), audit: load("audit"), auditEntries: load("audit_entries"),
		pushPut: load("push_put"), pushDelete: load("push_delete"), pushMark: load("push_mark"),
		pushTake: load("push_take"), pushKeep: load("push_keep"), pushDrop: load("push_drop"),
	}
}
