package main

import (
	"os"
	"sync"
	"syscall"
)

// lineSize is what a record of ours takes as JSON.
const lineSize = 1300

// journal is the least that makes an answer durable: a line in a file that was synced. Who comes
// while another syncs shares the next sync.
type journal struct {
	file    *os.File
	mutex   sync.Mutex
	waiting []byte
	next    *batch
	syncing bool
}

type batch struct {
	done chan struct{}
	err  error
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &journal{file: file, next: newBatch()}, err
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// append returns when the beginning of the text is on the disk, in a line of its own.
func (journal *journal) append(text []byte) error {
	journal.mutex.Lock()
	journal.waiting = append(journal.waiting, text[:min(len(text), lineSize)]...)
	journal.waiting = append(journal.waiting, '\n')
	mine := journal.next
	if !journal.syncing {
		journal.syncing = true
		go journal.flush()
	}
	journal.mutex.Unlock()
	<-mine.done
	return mine.err
}

// flush syncs what waits until nothing does.
func (journal *journal) flush() {
	journal.mutex.Lock()
	for len(journal.waiting) > 0 {
		lines, current := journal.waiting, journal.next
		journal.waiting, journal.next = nil, newBatch()
		journal.mutex.Unlock()
		if _, current.err = journal.file.Write(lines); current.err == nil {
			current.err = syscall.Fdatasync(int(journal.file.Fd()))
		}
		close(current.done)
		journal.mutex.Lock()
	}
	journal.syncing = false
	journal.mutex.Unlock()
}
