"""Crowds: who comes at a step. One user; many who are only counted; many with contexts or memories of their own.

What is played at a step, and what it pays, has the form that its crowd needs; nobody else looks into it.
"""

from tsgrad.simulation.crowds.base import Crowd, Item, Known, Player
from tsgrad.simulation.crowds.counted import Counted
from tsgrad.simulation.crowds.listed import Listed, Users
from tsgrad.simulation.crowds.one_user import ONE_USER, Floored, Late, OneUser

__all__ = [
    "ONE_USER",
    "Counted",
    "Crowd",
    "Floored",
    "Item",
    "Known",
    "Late",
    "Listed",
    "OneUser",
    "Player",
    "Users",
]
