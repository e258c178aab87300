"""Crowds: who comes at a step. One user; many who are only counted; many with contexts or memories of their own.

What is played at a step, and what it pays, has the form that its crowd needs. Nobody else looks into it, but where a
crowd says that it is `single`, an arm and a reward, or `counted`, the users of each arm [K].
"""

from tsgrad.simulation.crowds.base import Crowd, Item, Known, Player
from tsgrad.simulation.crowds.counted import Counted
from tsgrad.simulation.crowds.listed import Listed, each_user
from tsgrad.simulation.crowds.one_user import ONE_USER

__all__ = [
    "ONE_USER",
    "Counted",
    "Crowd",
    "Item",
    "Known",
    "Listed",
    "Player",
    "each_user",
]
